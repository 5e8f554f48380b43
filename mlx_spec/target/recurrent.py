"""Rewinding recurrent layers: the state after fewer tokens than were read is recomputed.

A recurrent state cannot be cut like rows of keys. But arrays never change, so the state before a pass costs
nothing to keep, and the state after `count` of its tokens is found in one of two ways:

- `Recomputed`: only the recurrence runs again, over its recorded inputs (`recording.py`), with a mask
  that the device makes of the count. No weight is read, and the host need not know the count.
- `Replayed`: the model reads the accepted tokens once more. It works for any cache made of arrays, but takes
  a pass after each rejection, and the host must know the count.

Which one a model gets is found by building one pass of it (docs/decisions/0009).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache

from mlx_spec.arrays import Length
from mlx_spec.target.recording import Kinds, Moved, Recorder, States, Windows

MARKS = 4
"""Places in a chat whose states are kept, to resume from when a turn is changed."""


class Recomputed:
    """The recurrences run again over their recorded inputs."""

    def __init__(self, kinds: Kinds, at: Length, states: States):
        self.at, self.rows = at, 0
        self._slots = tuple(
            tuple(
                Windows(x) if kind is Windows else Moved(x, x) for kind, x in zip(layer, slots, strict=True)
            )
            for layer, slots in zip(kinds, states, strict=True)
        )

    def caches(self, count: int) -> list[ArraysCache]:
        """A cache for each recurrent layer, for a pass over `count` more tokens."""
        counts = mx.arange(count + 1)
        return [Recorder(slots, counts) for slots in self._slots]

    def read(self, ids: mx.array, caches: Sequence[ArraysCache]) -> None:
        """Take the states that the pass left in the caches."""
        self._slots = tuple(cast(Recorder, cache).recorded() for cache in caches)
        self.rows += ids.shape[1]

    def after(self, count: int | mx.array) -> States:
        """The states after the first `count` of the tokens read."""
        if self.rows == 0 or (isinstance(count, int) and count == self.rows):
            return tuple(tuple(slot.end for slot in slots) for slots in self._slots)
        accepted = mx.arange(self.rows)[None] < count
        return tuple(tuple(slot.after(count, accepted) for slot in slots) for slots in self._slots)


class Single:
    """For a pass over one token: it can only be rewound to its start, so nothing is recorded."""

    def __init__(self, at: Length, states: States):
        self.at, self.rows = at, 0
        self._start = self._end = states

    def caches(self, count: int) -> list[ArraysCache]:
        assert self.rows == 0 and count == 1, "a checkpoint of one token takes one pass"
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
    """The model reads the accepted tokens again."""

    def __init__(self, replay: Callable[[mx.array, Length, States], States], at: Length, states: States):
        self.at, self.rows = at, 0
        self._replay = replay
        self._ids: list[mx.array] = []
        self._start = self._end = states

    def caches(self, count: int) -> list[ArraysCache]:
        return plain_caches(self._end)

    def read(self, ids: mx.array, caches: Sequence[ArraysCache]) -> None:
        self._end = states_in(caches)
        self._ids.append(ids)
        self.rows += ids.shape[1]

    def after(self, count: int | mx.array) -> States:
        assert isinstance(count, int), "the engine reads each round before the next of such a model"
        if count in (0, self.rows):
            return self._end if count else self._start
        return self._replay(mx.concatenate(self._ids, axis=1)[:, :count], self.at, self._start)


Checkpoint = Recomputed | Single | Replayed
"""The states at `at`, and the `rows` read from there on; the methods are as in `Recomputed`."""


def plain_caches(states: States) -> list[ArraysCache]:
    """Caches that record nothing: for passes that no rejection rewinds into."""
    caches = []
    for slots in states:
        cache = ArraysCache(len(slots))
        cache.cache = list(slots)
        caches.append(cache)
    return caches


def states_in(caches: Sequence[ArraysCache]) -> States:
    """What these caches hold."""
    return tuple(tuple(cache.cache) for cache in caches)


class StateHistory:
    """The states of one model's recurrent layers, and the places they can be rewound to.

    The checkpoint before the last is kept too: a round in flight may turn out to lie beyond the end.
    """

    def __init__(self, checkpoint: Callable[[Length, States], Checkpoint], fresh: States):
        self._checkpoint = checkpoint
        self._fresh = fresh
        self._marks: dict[int, States] = {}
        self._before: Checkpoint | None = None
        self.now = checkpoint(Length.exact(0), fresh)

    def go(self, at: Length, count: int) -> None:
        """Begin a checkpoint at `at`, which lies within the last one, for a pass over `count` tokens.

        Tokens before `at` are final. A checkpoint of one token takes one pass only.
        """
        assert at.high >= self.now.at.low, "a pass begins before the last checkpoint"
        if self.now.rows:
            self._before = self.now
        states = self.now.after(at.value - self.now.at.value if self.now.rows else 0)
        self.now = (Single if count == 1 else self._checkpoint)(at, states)

    def restart(self, at: int, states: States) -> None:
        """Begin again with the states at `at`, after a pass that no rejection rewinds into."""
        self._before, self.now = None, self._checkpoint(Length.exact(at), states)

    def forget(self) -> None:
        """Begin again before the text."""
        self._marks = {}
        self.restart(0, self._fresh)

    def mark(self) -> None:
        """Keep this place for later prompts."""
        self._marks[_host_value(self.now.at)] = self.now.after(0)
        for oldest in list(self._marks)[:-MARKS]:
            del self._marks[oldest]

    def reach(self, limit: int) -> int:
        """The furthest place up to `limit` that can be resumed."""
        return max(self._places(limit))

    def resume(self, limit: int) -> int:
        """Rewind to the place `reach(limit)`, forget all beyond it and return it."""
        places = self._places(limit)
        at = max(places)
        self.restart(at, places[at]())
        self._marks = {mark: states for mark, states in self._marks.items() if mark <= at}
        return at

    def _places(self, limit: int) -> dict[int, Callable[[], States]]:
        places: dict[int, Callable[[], States]] = {0: lambda: self._fresh}
        for mark, states in self._marks.items():
            places[mark] = lambda states=states: states
        for checkpoint in (self._before, self.now):
            if checkpoint is not None and (first := _host_value(checkpoint.at)) <= limit:
                count = min(limit - first, checkpoint.rows)
                places[first + count] = partial(checkpoint.after, count)
        return {place: states for place, states in places.items() if place <= limit}


def _host_value(at: Length) -> int:
    return at.value if isinstance(at.value, int) else cast(int, at.value.item())
