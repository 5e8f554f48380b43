"""The target's own layers, some left out, draft for the target: self-speculation without training.

Draft & Verify (Zhang et al., ACL 2024, arXiv 2309.08168), here with whole layers; the first few alone are
LayerSkip's early exit (Elhoushi et al., ACL 2024, arXiv 2404.16710). Weights are the target's; keys and
values are its own, for rows that a layer reads without those before it are not the target's.
"""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.candidate import Candidate
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.errors import UnsupportedModel
from mlx_spec.target.cache import Buffer, leaves, make_entries
from mlx_spec.target.taps import Tap

CANDIDATE = Candidate("layer_skip", kind="layer_skip", prior=0.5, limit=15)


class LayerSkipDrafter(ModelDrafter):
    """A draft model made of some of the target's layers.

    Args:
        layers: those that are kept.
        context_limit: as in `ModelDrafter`.
        acceptance: of a first token, as the search measured it.

    Raises:
        UnsupportedModel: its layers cannot be left out one by one, or `layers` is none or all of them.
    """

    name = "layer_skip"

    def __init__(
        self,
        target: nn.Module,
        layers: Collection[int],
        context_limit: int | None = None,
        acceptance: float = CANDIDATE.prior,
    ):
        view = with_layers(target, layers)
        try:
            super().__init__(view, context_limit)
        except UnsupportedModel as error:
            raise _refused(target, str(error)) from error
        self.candidate = replace(CANDIDATE, prior=acceptance)


class Skipped(Tap):
    """In place of a layer that is left out; what the model's code asks of it is as before."""

    def __init__(self, layer: nn.Module):
        super().__init__(layer, [])

    def __call__(self, x: mx.array, *args: Any, **kwargs: Any) -> mx.array:
        return x


def with_layers(target: Any, layers: Collection[int]) -> nn.Module:
    """The target without all layers but some: shares its weights, keeps each in its place.

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
        raise _refused(target, "Its code keeps them in no plain list.")
    entries = make_entries(view)
    if len(entries) != len(stack):
        raise _refused(target, "Some share keys and values.")
    if not all(isinstance(leaf, Buffer) for leaf in leaves(entries)):
        raise _refused(target, "Some carry a state from token to token.")
    return view


def _refused(target: nn.Module, why: str) -> UnsupportedModel:
    kind = type(target).__module__.rpartition(".")[2]
    return UnsupportedModel(
        f"No layer of {kind} can be left out. {why} Use another drafter with this target."
    )


def _replaced(module: nn.Module, layers: Sequence[nn.Module], by: list[nn.Module]) -> nn.Module | None:
    """A shallow copy of `module` with the list `layers` replaced, wherever in it that is. None: nowhere."""
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
