"""The kinds of heads that can be trained: their initial weights, their training pass, how they are saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.llama import ModelArgs
from mlx_lm.utils import dequantize_model

from mlx_spec.drafters.draft_head import embedding_of
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from mlx_spec.drafters.head import width_of
from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape, medusa_taps
from mlx_spec.target.model import Model
from mlx_spec.training import start, study, unroll
from mlx_spec.training.fit import Batch, Learner
from mlx_spec.training.study import Study, Text
from mlx_spec.training.unroll import Guesses
from models.errors import BadChoice
from models.load.drafters import load_drafter
from models.load.eagle import save_eagle
from models.load.medusa import save_medusa
from models.pairs.drafter_kinds import text_settings
from models.pairs.folder import folder_kind

HEADS, LAYERS = 4, 1
"""Medusa heads, and layers per head: further heads would be accepted too rarely."""
KNOWN = 8192
"""Tokens of a head's vocabulary."""
LONGEST = 640
"""Tokens per training sequence."""
FURTHER = 0.5
"""Factor on the learning rates for a head that is trained already."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of drafter for one target."""

    taps: Sequence[int]
    """Layers of the target that it reads."""
    vocab: int
    """Vocabulary size of its training texts."""
    learner: Callable[[Sequence[int]], Learner]
    """From the drafter's tokens."""
    save: Callable[[Path, Any, Mapping[str, Any], int | None], None]
    """Write the trained module to a folder: module, notes for its config, bits."""
    tokens: Sequence[int] | None = None
    """Its vocabulary; None: the `KNOWN` most frequent tokens of the texts."""
    fit: str = "fit"
    """File name of its unfinished weights, unique to its shape."""
    use: str = "every command uses it with"
    """Message on when it drafts; the target's name follows."""
    spell: Callable[[Text], Study] | None = None
    """Converts a text to its own tokens to train on; None: it trains on the target's outputs for the text."""
    longest: int = LONGEST
    """Target tokens per training sequence."""
    unit: str = "tokens"
    """The unit in which its texts are counted."""

    def study(self, tapped: Model, text: Text) -> Study:
        """The training data of a text; runs the target on it unless `spell` is set."""
        return study.study(tapped, text) if self.spell is None else self.spell(text)

    def read_as(self, text: Text) -> tuple[int, ...]:
        """The training tokens of a text."""
        return tuple(text.tokens if self.spell is None else self.spell(text).tokens.tolist())  # type: ignore[arg-type]


def eagle(target: Any, config: Mapping[str, Any]) -> Kind:
    """An EAGLE-3 head for a target with this config; BadChoice if the config lacks a size."""

    def learner(tokens: Sequence[int]) -> Learner:
        return _eagle(start.eagle_head(target, eagle_shape(config, target, tokens)))

    return Kind(eagle_shape(config, target, ()).taps, vocabulary(target), learner, save_eagle)


def medusa(target: Any, config: Mapping[str, Any]) -> Kind:
    """Medusa heads, for any target whose last norm can be found; `config` is unused."""
    width, vocab = width_of(embedding_of(target)), vocabulary(target)

    def learner(tokens: Sequence[int]) -> Learner:
        return _medusa(start.medusa_head(target, MedusaShape(HEADS, LAYERS, width, vocab, tuple(tokens))))

    return Kind(medusa_taps(target), vocab, learner, save_medusa)


def _eagle(head: EagleHead) -> Learner:
    def guesses(batch: Batch, steps: int) -> Guesses:
        return unroll.unrolled(head, batch.tokens, batch.states, steps)

    return Learner(head, head.tokens.tolist(), head.vocab, guesses)  # type: ignore[arg-type]


def _medusa(head: MedusaHead) -> Learner:
    def guesses(batch: Batch, steps: int) -> Guesses:
        by_head = head.guesses(batch.states)
        return [by_head[:, :, i] for i in range(steps)]

    return Learner(head, head.tokens.tolist(), head.vocab, guesses, head.shape.heads)  # type: ignore[arg-type]


KINDS: dict[str, Callable[[Any, Mapping[str, Any]], Kind]] = {"eagle": eagle, "medusa": medusa}
"""By kind of drafter."""
_LEARNERS: dict[str, Callable[[Any], Learner]] = {"eagle": _eagle, "medusa": _medusa}


def trained(name: str, folder: Path, target: nn.Module, config: dict[str, Any]) -> Kind:
    """The head in a folder, to be trained further.

    Args:
        name: the expected kind.

    Raises:
        BadChoice: it is of another kind, reads other layers of the target, or has what training leaves out.
        ModelsError: it cannot be read.
    """
    if (found := folder_kind(folder)) != name:
        raise BadChoice(f"--from {folder} holds a drafter of the kind {found}, and --kind is {name}.")
    drafter, kind = load_drafter(folder, name, target, config), KINDS[name](target, config)
    if (read := tuple(kind.taps)) != drafter.taps:
        raise BadChoice(
            f"--from {folder} reads the layers {drafter.taps} of the target, and texts are kept with "
            f"{read}. Leave out --from to make a new one."
        )
    head: Any = drafter.head  # type: ignore[attr-defined]
    if isinstance(head, EagleHead) and (left := _left_out(head.shape)):
        raise BadChoice(
            f"--from {folder} has {', '.join(left)}, which training here leaves out: it would become another "
            "head. Leave out --from to make a new one."
        )
    dequantize_model(head)
    head.set_dtype(mx.float32)
    learner = replace(_LEARNERS[name](head), rate=FURTHER)
    return replace(kind, learner=lambda tokens: learner, tokens=learner.tokens, fit=f"fit-{mark(head):08x}")


def _left_out(shape: EagleShape) -> list[str]:
    """What the head computes, and training or saving it does not (`unroll.py`, `save_eagle`)."""
    named = ("norm_before_residual", "norm_output", "qk_norm")
    scaled = ["rope_scaling"] if shape.args.rope_scaling else []
    return [name for name in named if getattr(shape, name)] + scaled


def eagle_taps(target: Any) -> tuple[int, ...]:
    """A low, a middle and a high layer, as in EAGLE-3's code: the inputs of layers 2, L / 2 and L - 3."""
    layers = len(target.layers)
    wanted = (1, layers // 2 - 1, layers - 4)
    return tuple(sorted({min(max(0, layer), layers - 1) for layer in wanted}))


def vocabulary(target: nn.Module) -> int:
    return embedding_of(target).weight.shape[0]


def mark(model: nn.Module) -> int:
    """A number that tells models apart, made of a few weights of each array."""
    arrays: list[mx.array] = [array for _, array in tree_flatten(model.parameters())]  # type: ignore[misc]
    some = mx.concatenate([array.reshape(-1)[:16].astype(mx.float32) for array in arrays])
    return crc32(memoryview(some))  # type: ignore[arg-type]


def eagle_shape(config: Mapping[str, Any], target: Any, tokens: Sequence[int]) -> EagleShape:
    """The shape of a head with one layer of the target's sizes; BadChoice if the config lacks them."""
    try:
        args = args_like(config, 1, vocabulary(target))
    except KeyError as error:
        raise BadChoice(
            f"The target's config.json names no {error}, which an eagle head needs. Medusa heads "
            "need less: --kind medusa."
        ) from error
    return EagleShape(args, args.hidden_size, eagle_taps(target), tuple(tokens))


def args_like(config: Mapping[str, Any], layers: int, vocab: int) -> ModelArgs:
    """The arguments of a Llama model with layers of the target's sizes; KeyError if its config lacks one."""
    text = text_settings(config)
    width, heads = text["hidden_size"], text["num_attention_heads"]
    return ModelArgs(
        model_type="llama",
        hidden_size=width,
        num_hidden_layers=layers,
        intermediate_size=text.get("intermediate_size") or 4 * width,
        num_attention_heads=heads,
        rms_norm_eps=text.get("rms_norm_eps", 1e-5),
        vocab_size=vocab,
        head_dim=text.get("head_dim") or width // heads,
        max_position_embeddings=text.get("max_position_embeddings"),
        num_key_value_heads=text.get("num_key_value_heads") or heads,
        rope_theta=text.get("rope_theta") or 10000,
    )
