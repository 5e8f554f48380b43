"""Recurrent layers go back: the state after fewer tokens than were read is worked out again.

A recurrent state cannot be cut like a row of keys. But arrays never change, so the state from before
a pass costs nothing to keep, and the state after `count` of its tokens follows in one of two ways:

- `Recomputed`: only the recurrence runs again, over its recorded inputs, with a mask that the device
  makes of the count. No weight is read, and the host need not know the count.
- `Replayed`: the model reads the tokens that stand once more. Right for any cache made of arrays, at
  the price of a pass after each rejection, and the host must know the count.

Which one a model gets is found by building one pass of it (docs/decisions/0009).
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, cast, runtime_checkable

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import gated_delta, ssm
from mlx_lm.models.cache import ArraysCache

from mlx_spec.cache import Extent

States = tuple[tuple[Any, ...], ...]
"""Of each recurrent layer, what each slot of its cache holds: an array, or None before the text."""
MARKS = 4
"""Places between the turns of a chat whose states are kept, to go on from when a turn is changed."""


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
    """A slot whose state a `Core` moves: where it stood, where it stands, what it was given between."""

    start: mx.array
    end: mx.array
    passes: tuple[tuple[Core, dict[str, Any]], ...] = ()

    def after(self, count: int | mx.array, stand: mx.array) -> mx.array:
        """The state after the first `count` of the tokens, those that `stand`: a boolean `[1, tokens]`."""
        if isinstance(count, int) and count == 0:
            return self.start
        core, given = self.passes[0]
        for name in core.per_token:
            given = given | {name: mx.concatenate([more[name] for _, more in self.passes], axis=1)}
        if isinstance(count, int):
            cut = {name: given[name][:, :count] for name in core.per_token}
            return core.masked(**given | cut, state=self.start)[1]
        return core.masked(**given, state=self.start, mask=stand)[1]


@dataclass(frozen=True, slots=True)
class Windows:
    """A slot with the last inputs of a convolution, after each count of tokens: `[rows + 1, ...]`."""

    states: mx.array

    @property
    def end(self) -> mx.array:
        return self.states[-1:]

    def followed_by(self, states: mx.array) -> "Windows":
        """With those of a further pass, the first of which is the last here."""
        return Windows(mx.concatenate([self.states[:-1], states]) if len(self.states) > 1 else states)

    def after(self, count: int | mx.array, stand: mx.array) -> mx.array:
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
        return tuple(
            old.followed_by(new) if isinstance(old, Windows) else new
            for old, new in zip(self._before, self.cache, strict=True)
        )


Kinds = tuple[tuple[type, ...], ...]
"""Of each recurrent layer, for each slot, `Windows` or `Moved`."""


@runtime_checkable
class Stretch(Protocol):
    """The states at a place in the text, and what was read from there on."""

    at: Extent
    rows: int

    def caches(self, count: int) -> list[ArraysCache]:
        """A cache for each recurrent layer, for a pass over `count` more tokens."""
        ...

    def read(self, ids: mx.array, caches: Sequence[ArraysCache]) -> None:
        """Take over what that pass left in them."""
        ...

    def after(self, count: int | mx.array) -> States:
        """The states after the first `count` of the tokens read."""
        ...


class Recomputed:
    """The recurrences run again over what they were given."""

    def __init__(self, kinds: Kinds, at: Extent, states: States):
        self.at, self.rows = at, 0
        self._slots = tuple(
            tuple(
                Windows(x) if kind is Windows else Moved(x, x) for kind, x in zip(layer, slots, strict=True)
            )
            for layer, slots in zip(kinds, states, strict=True)
        )

    def caches(self, count: int) -> list[ArraysCache]:
        counts = mx.arange(count + 1)
        return [Recorder(slots, counts) for slots in self._slots]

    def read(self, ids: mx.array, caches: Sequence[ArraysCache]) -> None:
        self._slots = tuple(cast(Recorder, cache).recorded() for cache in caches)
        self.rows += ids.shape[0]

    def after(self, count: int | mx.array) -> States:
        if self.rows == 0 or (isinstance(count, int) and count == self.rows):
            return tuple(tuple(slot.end for slot in slots) for slots in self._slots)
        stand = mx.arange(self.rows)[None] < count
        return tuple(tuple(slot.after(count, stand) for slot in slots) for slots in self._slots)


class Single:
    """One token was read: what may be gone back to is the state before it, and nothing is recorded."""

    def __init__(self, at: Extent, states: States):
        self.at, self.rows = at, 0
        self._start = self._end = states

    def caches(self, count: int) -> list[ArraysCache]:
        assert self.rows == 0 and count == 1, "a pass that was to stay alone is followed"
        return plain_caches(self._start)

    def read(self, ids: mx.array, caches: Sequence[ArraysCache]) -> None:
        self._end, self.rows = states_in(caches), 1

    def after(self, count: int | mx.array) -> States:
        if isinstance(count, int):
            return self._end if count else self._start
        return tuple(
            tuple(mx.where(count > 0, end, start) for start, end in zip(starts, ends, strict=True))
            for starts, ends in zip(self._start, self._end, strict=True)
        )


class Replayed:
    """The model reads the tokens that stand again."""

    def __init__(self, replay: Callable[[mx.array, Extent, States], States], at: Extent, states: States):
        self.at, self.rows = at, 0
        self._replay = replay
        self._ids: list[mx.array] = []
        self._start = self._end = states

    def caches(self, count: int) -> list[ArraysCache]:
        return plain_caches(self._end)

    def read(self, ids: mx.array, caches: Sequence[ArraysCache]) -> None:
        self._end = states_in(caches)
        self._ids.append(ids)
        self.rows += ids.shape[0]

    def after(self, count: int | mx.array) -> States:
        assert isinstance(count, int), "the engine reads each round before the next of such a model"
        if count in (0, self.rows):
            return self._end if count else self._start
        return self._replay(mx.concatenate(self._ids)[:count], self.at, self._start)


def plain_caches(states: States) -> list[ArraysCache]:
    """Caches that record nothing: for passes that nobody goes back into."""
    caches = []
    for slots in states:
        cache = ArraysCache(len(slots))
        cache.cache = list(slots)
        caches.append(cache)
    return caches


def states_in(caches: Sequence[ArraysCache]) -> States:
    return tuple(tuple(cache.cache) for cache in caches)


class Past:
    """Where the recurrent layers of one model stand, and the places they can go back to.

    The stretch before the last is kept too: a round in flight may turn out to lie beyond the end.
    """

    def __init__(self, stretch: Callable[[Extent, States], Stretch], fresh: States):
        self._stretch = stretch
        self._fresh = fresh
        self._marks: dict[int, States] = {}
        self._before: Stretch | None = None
        self.now = stretch(Extent.exact(0), fresh)

    def go(self, at: Extent, count: int) -> None:
        """Stand at `at`, which lies within the last stretch, to read `count` tokens or more.

        What came before `at` is final. Where one token is read, none may follow in the same stretch.
        """
        assert at.high >= self.now.at.low, "a pass begins before what is final"
        if self.now.rows:
            self._before = self.now
        states = self.now.after(at.value - self.now.at.value if self.now.rows else 0)
        self.now = (Single if count == 1 else self._stretch)(at, states)

    def stand(self, at: int, states: States) -> None:
        """The states at `at`, where a pass that nobody goes back into has ended."""
        self._before, self.now = None, self._stretch(Extent.exact(at), states)

    def mark(self) -> None:
        """Keep this place for later turns."""
        self._marks[_known(self.now.at)] = self.now.after(0)
        for oldest in list(self._marks)[:-MARKS]:
            del self._marks[oldest]

    def reach(self, limit: int) -> int:
        """The furthest place that is no further than `limit`."""
        return max(self._places(limit))

    def resume(self, limit: int) -> int:
        """Go back to that place, forget all beyond it and say where it is."""
        places = self._places(limit)
        at = max(places)
        self.stand(at, places[at]())
        self._marks = {mark: states for mark, states in self._marks.items() if mark <= at}
        return at

    def _places(self, limit: int) -> dict[int, Callable[[], States]]:
        places: dict[int, Callable[[], States]] = {0: lambda: self._fresh}
        for mark, states in self._marks.items():
            places[mark] = lambda states=states: states
        for stretch in (self._before, self.now):
            if stretch is not None and (first := _known(stretch.at)) <= limit:
                count = min(limit - first, stretch.rows)
                places[first + count] = partial(stretch.after, count)
        return {place: states for place, states in places.items() if place <= limit}


def _known(at: Extent) -> int:
    return at.value if isinstance(at.value, int) else cast(int, at.value.item())


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
