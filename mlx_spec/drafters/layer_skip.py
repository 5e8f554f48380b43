"""Drafts by some of the target's own layers: self-speculation without training.

Draft & Verify (Zhang et al., ACL 2024, arXiv 2309.08168), here with whole layers; the first few alone are
LayerSkip's early exit (Elhoushi et al., ACL 2024, arXiv 2404.16710). Weights are the target's, and so are
keys and values: a draft reads those of the text, writes its own behind them, and the target's pass, which
begins where the draft began, overwrites these. So there is nothing to read before a draft.
"""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.arrays import Draft, Length, Pass
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Texts
from mlx_spec.errors import UnsupportedModel
from mlx_spec.target.cache import Buffer, make_entries
from mlx_spec.target.model import Model
from mlx_spec.target.taps import InPlace, Tap
from mlx_spec.verify.batch import BatchVerifier, Chain

CANDIDATE = Candidate("layer_skip", kind="layer_skip", prior=0.5, limit=15)


class LayerSkipDrafter(Drafter):
    """A draft model made of some of the target's layers.

    Args:
        layers: the layers that are kept.
        acceptance: of a first token, as the search measured it.

    Raises:
        UnsupportedModel: its layers cannot be left out one by one, or `layers` is none or all of them.
    """

    name = "layer_skip"

    def __init__(self, target: nn.Module, layers: Collection[int], acceptance: float = CANDIDATE.prior):
        view = with_layers(target, layers)
        try:
            self.cached = Model(view)
        except UnsupportedModel as error:
            raise _refused(target, "Its code does not run without one.") from error
        self.models = (self.cached,)
        self.candidate = replace(CANDIDATE, prior=acceptance)
        self._layers = frozenset(layers)

    def attach(self, target: Model) -> None:
        self.cached.share(target, self._layers)

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        for i, tokens in enumerate(texts):
            self.cached.resume(tokens, 0, i)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return (self.candidate,)

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        p = Pass(context.last(1), context.length.plus(-1))
        chain = Chain(verifier, len(p.ids))
        for _ in range(depth):
            p = Pass(chain.step(self.cached.decode(p).logits[:, -1]), p.start.plus(1))
        return chain.draft


class Skipped(InPlace):
    """A layer that is left out."""

    def __call__(self, *args: Any, **kwargs: Any) -> mx.array:
        return (*args, *kwargs.values())[0]  # GPT-J gives its layers no positional argument


def with_layers(target: Any, layers: Collection[int]) -> nn.Module:
    """The target with these layers only: it shares their weights and keeps each at its index.

    Raises:
        UnsupportedModel: its layers cannot be left out one by one, or `layers` is none or all of them.
    """
    stack = [layer.layer if type(layer) is Tap else layer for layer in target.layers]
    if not 0 < len(set(layers)) < len(stack) or not set(layers) <= set(range(len(stack))):
        raise UnsupportedModel(
            f"A drafter keeps layers {sorted(layers)} of a target that has {len(stack)}. "
            "Use the drafter that was made for this target."
        )
    few = [layer if i in layers else Skipped(layer) for i, layer in enumerate(stack)]
    view = _replaced(target, target.layers, few)
    if view is None:
        raise _refused(target, "Its code does not keep them in a plain list.")
    entries = make_entries(view)
    if len(entries) != len(stack) or not all(isinstance(entry, Buffer) for entry in entries):
        raise _refused(target, "Not all of them have just keys and values of their own.")
    return view


def _refused(target: nn.Module, why: str) -> UnsupportedModel:
    kind = type(target).__module__.rpartition(".")[2]
    return UnsupportedModel(
        f"No layer of {kind} can be left out. {why} Use another drafter with this target."
    )


def _replaced(module: nn.Module, layers: Sequence[nn.Module], by: list[nn.Module]) -> nn.Module | None:
    """A shallow copy of `module` with the list `layers` replaced, at any depth. None: it has no such list."""
    for name, child in module.items():
        new = None
        if isinstance(child, list) and len(child) == len(layers):
            new = by if all(a is b for a, b in zip(child, layers, strict=True)) else None
        elif isinstance(child, nn.Module):
            new = _replaced(child, layers, by)
        if new is not None:
            shallow = copy(module)
            shallow[name] = new
            return shallow
    return None
