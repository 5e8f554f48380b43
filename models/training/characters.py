"""Training a draft model that reads characters: bytes, and the special tokens of its target's chats.

Its vocabulary is tiny, so it is small even for a target with a large one; the `foreign` drafter runs it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from mlx_lm.models.llama import ModelArgs
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from mlx_spec.training.fit import Learner
from mlx_spec.training.small_model import learner, new_model
from mlx_spec.training.spelling import spelled
from models.errors import BadChoice
from models.load.heads import GROUP
from models.load.token_bytes import BYTE_LETTERS, TokenBytes
from models.load.tokenizers import read_tokenizer
from models.load.translation import small_files
from models.pairs.own_drafters import CHARACTERS
from models.training.draft_model import llama_config, save_model
from models.training.fitting import Fitting
from models.training.kinds import Kind, args_like, vocabulary
from models.training.work import TrainRequest, Work
from models.training.workshop import Workshop

LAYERS, WIDTH, HEAD = 4, 256, 64
"""The default size: 3 million weights."""
LARGEST = 10**9
"""Most weights, far more than are worth their time; a model is made before memory is looked at."""
POSITIONS = 1024
"""Context length in characters."""
TOKENS = 200
"""Target tokens per training sequence: about `POSITIONS` characters."""


def character_model(shop: Workshop, request: TrainRequest) -> Work:
    """Raises ModelsError: the target has no tokenizer.json, or the requested size is invalid."""
    with small_files(shop.path) as folder:
        tokenizer = read_tokenizer(folder)
    if not tokenizer.is_fast:
        raise BadChoice(
            f"{shop.path} has no tokenizer.json, which tells what its tokens stand for. Train another kind."
        )
    tokens = TokenBytes(tokenizer)
    ends = [tokens.special[i] for i in sorted(shop.tokenizer.eos_token_ids) if i in tokens.special]
    named = special_names(tokens, ends, str(tokenizer.chat_template))
    args = character_args(256 + len(named), request.layers or LAYERS, request.width or WIDTH)
    config = llama_config(args, range(256, 256 + len(ends)))
    spelling = spell(tokens, named, vocabulary(shop.target))

    def begun(ids: Sequence[int]) -> Learner:
        return learner(new_model(args), len(ids), args.vocab_size, 1.0)

    def save(folder: Path, model: Any, about: Mapping[str, Any], bits: int | None) -> None:
        save_tokenizer(folder, named)
        save_model(folder, model, {**config, "mlx_spec": {**about["mlx_spec"], "reads": CHARACTERS}}, bits)

    kind = Kind(
        (),
        args.vocab_size,
        begun,
        save,
        tokens=range(args.vocab_size),
        fit=f"fit-{args.num_hidden_layers}x{args.hidden_size}",
        use=f"--draft {quote(str(shop.folder))} lets it draft, as `foreign`, for",
        spell=lambda text: spelled(text, spelling),
        longest=TOKENS,
        unit="characters",
    )
    return Fitting(shop, kind, request)


def character_args(vocab: int, layers: int, width: int) -> ModelArgs:
    """Raises BadChoice: the width is not a multiple of `HEAD`, or there are more than `LARGEST` weights."""
    if width % HEAD:
        raise BadChoice(f"--width is {width}; its attention heads are {HEAD} wide: give a multiple.")
    if 12 * layers * width**2 > LARGEST:
        raise BadChoice(
            f"--layers {layers} and --width {width} make a model of more than a billion weights, which "
            f"drafts too slowly. Give less: {LAYERS} and {WIDTH} are the default."
        )
    sizes = {
        "hidden_size": width,
        "intermediate_size": 8 * width // 3 // GROUP * GROUP,
        "num_attention_heads": width // HEAD,
        "max_position_embeddings": POSITIONS,
    }
    return args_like(sizes, layers, vocab)


def special_names(tokens: TokenBytes, ends: Sequence[str], template: str) -> list[str]:
    """The special tokens to keep: end tokens, then those in the target's chat template."""
    return list(dict.fromkeys([*ends, *(name for name in tokens.special.values() if name in template)]))


def spell(tokens: TokenBytes, named: Sequence[str], count: int) -> list[Sequence[int]]:
    """By target token, its ids here: bytes 0 to 255, or 256 + i for the i-th of `named`; other special tokens
    have none."""
    special = {name: [256 + i] for i, name in enumerate(named)}
    return [
        special.get(tokens.special[i], ()) if i in tokens.special else list(tokens.bytes.get(i, b""))
        for i in range(count)
    ]


def save_tokenizer(folder: Path, named: Sequence[str]) -> None:
    """Write the model's tokenizer. It has no begin token."""
    tokenizer = Tokenizer(BPE({letter: byte for byte, letter in enumerate(BYTE_LETTERS)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in named])
    tokenizer.save(str(folder / "tokenizer.json"))
    end = {"eos_token": named[0]} if named else {}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": POSITIONS, **end}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
