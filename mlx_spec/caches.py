"""What the target and the drafters of an engine hold, changed together."""

from collections.abc import Sequence

from mlx_spec.drafters import Drafter
from mlx_spec.target.model import Model


def models_of(target: Model, drafters: Sequence[Drafter]) -> list[Model]:
    """Target and draft models."""
    return [target, *(model for drafter in drafters for model in drafter.models)]


def rearrange(target: Model, drafters: Sequence[Drafter], order: Sequence[int]) -> None:
    """Give place i a copy of what is cached at place `order[i]`; all places are empty if that fails."""
    if list(order) == list(range(len(target.texts))):
        return
    try:
        for each in (target, *drafters):
            each.rearrange(order)
    except BaseException:
        drop(target, drafters)
        for each in (target, *drafters):  # without rows, this takes no memory
            each.rearrange(order)
        raise


def drop(target: Model, drafters: Sequence[Drafter]) -> None:
    """Drop all arrays: MLX may take one that it failed to compute for computed the next time."""
    for model in models_of(target, drafters):
        model.drop()
    for drafter in drafters:
        drafter.drop()


def renew(drafter: Drafter) -> None:
    """Give a drafter of another engine one empty place, as a new one has."""
    for model in drafter.models:
        model.drop()
    drafter.drop()
    drafter.rearrange([0])
