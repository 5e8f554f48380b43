"""What a recurrent layer leaves behind in a pass that may be gone back into.

mlx-lm's two recurrences are wrapped where the models' modules name them, and its convolutions are asked for
their window after every count of tokens. Nothing of a model's own code is copied (docs/decisions/0009).
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
"""Of each recurrent layer, what each slot of its cache holds: an array, or None before the text."""
Kinds = tuple[tuple[type, ...], ...]
"""Of each recurrent layer, for each slot, `Windows` or `Moved`."""

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
        """The function itself, unless the state it is given records."""
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
    """The chunked form, for one token too: the kernel for one knows no mask."""
    lengths = None if mask is None else mask.sum(axis=-1)
    return ssm.ssm_attn(hidden_states, mask=mask, lengths=lengths, **given)


CORES = {
    "gated_delta_update": Core(
        gated_delta.gated_delta_update, gated_delta.gated_delta_update, ("q", "k", "v", "a", "b")
    ),
    "ssm_update": Core(ssm.ssm_update, _masked_ssm, ("hidden_states", "B", "C", "dt")),
}


def record_cores(model: nn.Module) -> None:
    """Let the recurrences in a model's code record, where they are given a state that does."""
    for module in {type(part).__module__ for part in model.modules()}:
        names = vars(sys.modules[module])
        for name, core in CORES.items():
            if names.get(name) is core.function:
                names[name] = core


@dataclass(frozen=True, slots=True)
class Moved:
    """A slot whose state a `Core` moves: its start, its end, what it was given between."""

    start: mx.array
    end: mx.array
    passes: tuple[tuple[Core, dict[str, Any]], ...] = ()

    def after(self, count: int | mx.array, accepted: mx.array) -> mx.array:
        """The state after the first `count` of the tokens, those `accepted`: a boolean `[1, tokens]`."""
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
    """A slot with the last inputs of a convolution, after each count of tokens: `[rows + 1, ...]`."""

    states: mx.array

    @property
    def end(self) -> mx.array:
        """After the last token, `[1, ...]`."""
        return self.states[-1:]

    def followed_by(self, states: mx.array) -> "Windows":
        """With those of a further pass, the first of which is the last here."""
        return Windows(mx.concatenate([self.states[:-1], states]) if len(self.states) > 1 else states)

    def after(self, count: int | mx.array, accepted: mx.array) -> mx.array:
        """After the first `count` of the tokens, `[1, ...]`; `accepted` is for other slots."""
        return self.states[count : count + 1] if isinstance(count, int) else mx.take(self.states, count, 0)


class Recorder(ArraysCache):
    """What a recurrent layer takes for its cache in a pass that may be gone back into.

    `lengths` is mlx-lm's way to ask a convolution for its window after so many tokens; asked for all
    counts from none to every token, its code gives one window for each.
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
        """The slots after the pass, with what going back into it needs."""
        return tuple(
            old.followed_by(new) if isinstance(old, Windows) else new
            for old, new in zip(self._before, self.cache, strict=True)
        )


def kinds_of(states: States) -> Kinds:
    """What the slots seem to be: windows are rows of inputs, what a recurrence moves is a matrix per head."""
    return tuple(tuple(Windows if x.ndim == 3 else Moved for x in slots) for slots in states)


def records(caches: Sequence[ArraysCache], count: int) -> bool:
    """Whether a pass over `count` tokens left in every slot what `Recomputed` needs."""
    return all(
        len(slot.passes) == 1
        if isinstance(slot, Moved)
        else isinstance(slot, mx.array) and slot.shape[0] == count + 1
        for cache in caches
        for slot in cache.cache
    )
