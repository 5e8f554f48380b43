"""Training a draft model for a target: a new small model, or an existing one distilled further."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.llama import ModelArgs
from mlx_lm.utils import get_total_parameters

from mlx_spec.training.fit import Learner
from mlx_spec.training.small_model import learner, small_model
from models.errors import BadChoice
from models.load.checkpoint import opened
from models.load.heads import GROUP, llama_shape, quantize
from models.load.tokenizers import check_folders
from models.load.translation import small_files
from models.pairs.drafter_kinds import text_settings
from models.pairs.folder import check_target
from models.pairs.installed import installed_folder
from models.pairs.resolve import target_spec
from models.training.fitting import Fitting
from models.training.kinds import Kind, args_like, mark, vocabulary
from models.training.work import TrainRequest, Work
from models.training.workshop import Workshop

LAYERS = 4
"""The most layers by default; never more than a quarter of the target's."""
GENTLE = 0.1
"""Factor on the learning rates for a model that is trained already."""
USE = "--drafter names it, and where no other draft model is named every command uses it with"
TOKENIZER = ("tokenizer*", "special_tokens_map.json", "added_tokens.json", "generation_config.json",
             "chat_template*", "vocab.*", "merges.txt")  # fmt: skip
NOT_COPIED = ("quantization", "quantization_config", "mlx_spec")


def draft_model(shop: Workshop, request: TrainRequest) -> Work:
    """Raises ModelsError: the size is invalid, or the base model does not fit the target."""
    if request.base is not None:
        return Fitting(shop, _of_model(shop, request.base), request)
    try:
        vocab = vocabulary(shop.target)
        args = small_args(shop.config, vocab, request.layers, request.width)
    except KeyError as error:
        raise BadChoice(
            f"The target's config.json names no {error}, which a new draft model needs. Begin from a "
            "smaller model: --from."
        ) from error

    def begun(tokens: Sequence[int]) -> Learner:
        return learner(small_model(shop.target, args), len(tokens), vocab, 1.0)

    config = llama_config(args, sorted(shop.tokenizer.eos_token_ids))
    kind = _kind(shop, begun, config, f"fit-{args.num_hidden_layers}x{args.hidden_size}")
    return Fitting(shop, kind, request)


def small_args(config: Mapping[str, Any], vocab: int, layers: int | None, width: int | None) -> ModelArgs:
    """The arguments of a Llama model of this size, otherwise like the target.

    Args:
        layers: None: a quarter of the target's, at most `LAYERS`.
        width: None: half the target's.

    Raises:
        BadChoice: the model is not smaller than the target, or its width not a multiple of the head width.
    """
    count = text_settings(config)["num_hidden_layers"]
    like = args_like(config, layers or max(1, min(LAYERS, count // 4)), vocab)
    whole, heads, head = like.hidden_size, like.num_attention_heads, like.head_dim or 1
    width = width or -(-whole // (2 * head)) * head
    if width % head or width > whole:
        raise BadChoice(
            f"--width is {width}; the target's heads are {head} wide: give a multiple, up to {whole}."
        )
    if like.num_hidden_layers >= count:
        how = "give fewer, a tenth of them or so" if count > 1 else "no smaller model is like it; use --from"
        raise BadChoice(f"--layers is {like.num_hidden_layers}; the target has {count}: {how}.")
    own = width // head if width < whole else heads
    shared = heads // (like.num_key_value_heads or heads)
    return replace(
        like,
        hidden_size=width,
        intermediate_size=like.intermediate_size * width // whole // GROUP * GROUP or width,
        num_attention_heads=own,
        num_key_value_heads=own // shared if own % shared == 0 else own,
    )


def llama_config(args: ModelArgs, ends: Sequence[int]) -> dict[str, Any]:
    """The config.json of a Llama model; `ends` are its end tokens."""
    own = {"tie_word_embeddings": args.tie_word_embeddings, "eos_token_id": list(ends)}
    return {"architectures": ["LlamaForCausalLM"], **llama_shape(args), **own}


def _of_model(shop: Workshop, text: str) -> Kind:
    spec = target_spec(text)
    path = installed_folder(spec.target, spec)
    check_target(path, path)
    with opened(path) as files, small_files(shop.path) as target:
        check_folders(target, files.folder)
        model, config = files.load(as_float32=True)
    if get_total_parameters(model) >= get_total_parameters(shop.target):
        raise BadChoice(
            f"--from {text} is no smaller than the target: nothing would be gained. Name a smaller model."
        )

    def begun(tokens: Sequence[int]) -> Learner:
        known = min(len(tokens), vocabulary(model))
        return learner(model, known, vocabulary(shop.target), GENTLE)  # type: ignore[arg-type]

    kept = {name: value for name, value in config.items() if name not in NOT_COPIED}
    return _kind(shop, begun, kept, f"fit-{mark(model):08x}")


def _kind(shop: Workshop, begun: Any, config: Mapping[str, Any], fit: str) -> Kind:
    def save(folder: Path, model: Any, about: Mapping[str, Any], bits: int | None) -> None:
        with small_files(shop.path) as target:
            for file in {file for pattern in TOKENIZER for file in target.glob(pattern) if file.is_file()}:
                shutil.copyfile(file, folder / file.name)
        save_model(folder, model, {**config, **about}, bits)

    vocab = vocabulary(shop.target)
    return Kind((), vocab, begun, save, range(vocab), fit, USE)


def save_model(folder: Path, model: nn.Module, config: Mapping[str, Any], bits: int | None) -> None:
    """Write config.json and model.safetensors in mlx-lm's format.

    Args:
        bits: quantize its matrices to this many bits; None: 16 bits, bfloat16 or float16 as its config says.
    """
    model.set_dtype(mx.bfloat16 if config.get("torch_dtype") == "bfloat16" else mx.float16)
    quantization = quantize(model, bits, (nn.Linear, nn.Embedding))
    weights: dict[str, mx.array] = dict(tree_flatten(model.parameters()))  # type: ignore[arg-type]
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps({**config, **quantization}, indent=1) + "\n")
