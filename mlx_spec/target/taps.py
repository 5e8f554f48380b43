"""Hidden states of a model's layers, for drafters that see inside the target."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.errors import UnsupportedModel


class InPlace(nn.Module):
    """Takes the place of a layer; the layer's attributes are still found."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if "layer" not in self:
            raise AttributeError(name)
        return getattr(self["layer"], name)


class Tap(InPlace):
    """A layer whose output is noted."""

    def __init__(self, layer: nn.Module, taps: "Taps"):
        super().__init__(layer)
        self._taps = taps

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        output = self.layer(*args, **kwargs)
        self._taps.note(output[0] if isinstance(output, tuple) else output)
        return output


def stack_of(model: Any) -> list[nn.Module]:
    """The list that holds a model's layers. `layers` itself may be a copy, as in pipeline models."""
    layers = model.layers
    lists = (child for module in model.modules() for child in module.values() if isinstance(child, list))
    return next((each for each in lists if len(each) == len(layers) and each[-1] is layers[-1]), layers)


class Taps:
    """The tapped layers of one model, tapped in place.

    Raises:
        UnsupportedModel: the model has no such layer.
    """

    def __init__(self, model: Any, layers: Sequence[int]):
        self.layers = tuple(sorted(set(layers)))
        self._noted: list[mx.array] | None = None
        """Outputs in the current pass; None outside of one."""
        stack = stack_of(model)
        for index in self.layers:
            if not 0 <= index < len(stack):
                raise UnsupportedModel(
                    f"A drafter reads layer {index}, and the target has {len(stack)} layers. "
                    "Use the drafter that was made for this target."
                )
            stack[index] = Tap(stack[index], self)

    def begin(self) -> None:
        """A pass begins."""
        self._noted = []

    def note(self, state: mx.array) -> None:
        """Note a layer's output; layers run in order."""
        if self._noted is not None:
            self._noted.append(state)

    def take(self) -> dict[int, mx.array]:
        """Outputs in the last pass: `[b, rows, dim]` by layer.

        Raises:
            UnsupportedModel: the model's code does not run its layers one by one, or, as Gemma 3n's, each on
                several states.
        """
        noted, self._noted = self._noted or [], None
        if len(noted) != len(self.layers) or any(state.ndim != 3 for state in noted):
            raise UnsupportedModel(
                "The target's code does not give one state after each layer. "
                "Use a drafter that does not read its layers."
            )
        return dict(zip(self.layers, noted, strict=True))
