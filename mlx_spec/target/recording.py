"""Records what rewinding into a pass needs of a recurrent layer.

mlx-lm's two recurrences are wrapped where the models' modules name them, and its convolutions return their
window after every number of tokens. Nothing of a model's own code is copied (docs/decisions/0009).
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import gated_delta, ssm
from mlx_lm.models.cache import ArraysCache

States = tuple[tuple[Any, ...], ...]
"""By recurrent layer and slot of its cache: an array, or None before the text."""
Kinds = tuple[tuple[type, ...], ...]
"""By recurrent layer and slot: `Windows` or `Moved`."""

signature_of = cache(inspect.signature)


@dataclass(frozen=True, slots=True)
class Core:
    """A recurrence of mlx-lm: a function of tokens and a state that returns (outputs, state)."""

    function: Callable[..., tuple[mx.array, mx.array]]
    masked: Callable[..., tuple[mx.array, mx.array]]
    """The same; a masked token leaves the state as it was."""
    per_token: tuple[str, ...]
    """Arguments with tokens on axis 1."""

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[mx.array, Any]:
        """Call the function; if its state is a `Moved`, record the arguments."""
        if not any(isinstance(given, Moved) for given in (*args, *kwargs.values())):
            return self.function(*args, **kwargs)
        given = signature_of(self.function).bind(*args, **kwargs).arguments
        slot: Moved = given["state"]
        given = {name: value for name, value in given.items() if name not in ("state", "mask", "lengths")}
        outputs, end = self.function(**given, state=slot.end)
        return outputs, Moved(slot.start, end, (*slot.passes, (self, given)))


def _masked_ssm(
    hidden_states: mx.array, mask: mx.array | None = None, **given: Any
) -> tuple[mx.array, mx.array]:
    """The chunked form, for one token too: the kernel for one takes no mask."""
    lengths = None if mask is None else mask.sum(axis=-1)
    return ssm.ssm_attn(hidden_states, mask=mask, lengths=lengths, **given)


CORES = {
    "gated_delta_update": Core(
        gated_delta.gated_delta_update, gated_delta.gated_delta_update, ("q", "k", "v", "a", "b")
    ),
    "ssm_update": Core(ssm.ssm_update, _masked_ssm, ("hidden_states", "B", "C", "dt")),
}


def record_cores(model: nn.Module) -> None:
    """Let the recurrences in a model's code record their arguments when their state is a `Moved`."""
    for module in {type(part).__module__ for part in model.modules()}:
        names = vars(sys.modules[module])
        for name, core in CORES.items():
            if names.get(name) is core.function:
                names[name] = core


@dataclass(frozen=True, slots=True)
class Moved:
    """A slot with a recurrence's state: at start and end, and the arguments of the passes between."""

    start: mx.array
    end: mx.array
    passes: tuple[tuple[Core, dict[str, Any]], ...] = ()

    def after(self, count: int | mx.array, accepted: mx.array) -> mx.array:
        """The state after the first `count` tokens; `accepted` marks these, a boolean `[1, tokens]`."""
        if isinstance(count, int) and count == 0:
            return self.start
        core, given = self.passes[0]
        for name in core.per_token:
            given = given | {name: mx.concatenate([more[name] for _, more in self.passes], axis=1)}
        if isinstance(count, int):
            cut = {name: given[name][:, :count] for name in core.per_token}
            return core.masked(**given | cut, state=self.start)[1]
        return core.masked(**given, state=self.start, mask=accepted)[1]


@dataclass(frozen=True, slots=True)
class Windows:
    """A slot with the last inputs of a convolution after 0, 1, ... tokens: `[rows + 1, ...]`."""

    states: mx.array

    @property
    def end(self) -> mx.array:
        """After the last token, `[1, ...]`."""
        return self.states[-1:]

    def followed_by(self, states: mx.array) -> "Windows":
        """Joined with those of the next pass, whose first is the last one here."""
        return Windows(mx.concatenate([self.states[:-1], states]) if len(self.states) > 1 else states)

    def after(self, count: int | mx.array, accepted: mx.array) -> mx.array:
        """After the first `count` tokens, `[1, ...]`; `accepted` is not used."""
        return self.states[count : count + 1] if isinstance(count, int) else mx.take(self.states, count, 0)


class Recorder(ArraysCache):
    """The cache of a recurrent layer in a pass that may be rewound into.

    mlx-lm's convolutions return their window after `lengths` tokens: with all counts from 0 to all tokens as
    `lengths`, one window for each.
    """

    def __init__(self, slots: Sequence[Any], counts: mx.array):
        super().__init__(len(slots))
        self._before = slots
        self.cache = [slot.end if isinstance(slot, Windows) else slot for slot in slots]
        self.lengths = counts

    def make_mask(self, N: int) -> None:
        """Every token counts until the verdict."""

    def advance(self, N: int) -> None:
        """`lengths` holds for the pass."""

    def recorded(self) -> tuple[Any, ...]:
        """The slots after the pass, with what rewinding into it needs."""
        return tuple(
            old.followed_by(new) if isinstance(old, Windows) else new
            for old, new in zip(self._before, self.cache, strict=True)
        )


def records(caches: Sequence[ArraysCache], count: int) -> bool:
    """Whether a pass over `count` tokens left in every slot what `Recomputed` needs."""
    return all(
        len(slot.passes) == 1
        if isinstance(slot, Moved)
        else isinstance(slot, mx.array) and slot.shape[0] == count + 1
        for cache in caches
        for slot in cache.cache
    )
