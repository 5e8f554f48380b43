"""Finds what a model's code can do with our caches, by building passes that are never run."""

from collections.abc import Callable, Sequence
from functools import partial

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache

from mlx_spec.arrays import Draft, Length, Tree
from mlx_spec.errors import UnsupportedModel
from mlx_spec.target.cache import leaves, make_entries
from mlx_spec.target.recording import Kinds, Moved, States, Windows, record_cores, records
from mlx_spec.target.recurrent import Recomputed, Replayed, StateHistory, plain_caches, states_in
from mlx_spec.target.view import views

COUNT = 2
"""Tokens of a built pass."""
MANY = 7
"""Sequences of one that is built with several. As many as a model has heads, Gemma 2's code would take their
masks for masks of its heads, without an error."""
REFUSALS = (TypeError, ValueError, AttributeError, IndexError)
"""What mlx-lm's code raises if it is given an array in place of an int, or a slot in place of an array."""


COUNT_THEIR_KEYS = frozenset({"afm7", "deepseek_v32", "minimax_m3_vl"})
"""Code that takes positions from the number of keys: a view must end where the text does.

A built pass shows neither this nor the next; the equality check of docs/model-types.md does.
"""
SEE_AHEAD = frozenset({"phi3small"})
"""Code that gives other results for several rows than for single ones: it adds its boolean mask to scores."""


class Probe:
    """What was found of one model.

    Raises:
        UnsupportedModel: it cannot run with caches that rewind.
    """

    def __init__(self, model: nn.Module, kv_bits: int | None):
        self._model = model
        self._kv_bits = kv_bits
        self._none: States = tuple(
            tuple(entry.cache)
            for entry in leaves(make_entries(model, kv_bits))
            if isinstance(entry, ArraysCache)
        )
        code = {type(part).__module__.removeprefix("mlx_lm.models.") for part in model.modules()}
        if SEE_AHEAD & code:
            raise UnsupportedModel(
                f"{', '.join(SEE_AHEAD & code)} gives other results for several tokens at once than one by "
                "one, in mlx-lm's own code. Use another model: `mlx-spec pairs` lists some that work."
            )
        counts = bool(COUNT_THEIR_KEYS & code)
        self._at = Length.exact(1) if counts else Length(mx.array([1], mx.int32), 1, 2)
        caches = plain_caches(self._none)
        try:
            logits = self._pass(caches)
        except REFUSALS:
            self._at = Length.exact(1)
            caches = plain_caches(self._none)
            logits = self._last_resort(caches)
        self.vocab: int = logits.shape[-1]
        """Rows of the vocabulary."""
        self._kinds = self._recordable(states_in(caches))
        self.lazy = self._at.low < self._at.high and (not self._none or self._kinds is not None)
        """Whether a pass may start at a position that only the device knows."""

    def history(self, replay: Callable[[mx.array, Length, States], States]) -> StateHistory | None:
        """The recurrent layers' states at the start of a text; None without such layers."""
        if not self._none:
            return None
        if self._kinds is None:
            return StateHistory(partial(Replayed, replay), self._none)
        return StateHistory(partial(Recomputed, self._kinds), self._zeros)

    def batches(self) -> bool:
        """Whether several sequences can be read at once, each from a position of its own."""
        return self._builds(MANY, COUNT, Length(mx.arange(MANY, dtype=mx.int32), 0, MANY))

    def trees(self) -> bool:
        """Whether each row of a pass can have its own position."""
        tree = Tree.of(Draft(mx.zeros((1, COUNT), mx.int32), 1, mx.zeros((1, COUNT), mx.int32)))
        return not self._none and self._builds(1, COUNT + 1, self._at, tree)

    def _builds(self, sequences: int, count: int, at: Length, tree: Tree | None = None) -> bool:
        entries, caches = make_entries(self._model, self._kv_bits), plain_caches(self._none)
        try:
            self._model(mx.zeros((sequences, count), mx.int32), cache=views(entries, at, iter(caches), tree))
        except REFUSALS:
            return False
        return True

    def _recordable(self, states: States) -> Kinds | None:
        """The kind of each slot, if all of them record what rewinding needs."""
        if not states or any(slot is None for slots in states for slot in slots):
            return None
        self._zeros = tuple(tuple(mx.zeros(slot.shape, slot.dtype) for slot in slots) for slots in states)
        # Windows are rows of inputs, a recurrence's state is a matrix per head.
        kinds = tuple(tuple(Windows if x.ndim == 3 else Moved for x in slots) for slots in states)
        record_cores(self._model)
        caches = Recomputed(kinds, Length.exact(0), self._zeros).caches(COUNT)
        try:
            self._pass(caches)
        except REFUSALS:
            return None
        return kinds if records(caches, COUNT) else None

    def _pass(self, caches: Sequence[ArraysCache]) -> mx.array:
        entries = make_entries(self._model, self._kv_bits)
        return self._model(mx.zeros((1, COUNT), mx.int32), cache=views(entries, self._at, iter(caches)))

    def _last_resort(self, caches: Sequence[ArraysCache]) -> mx.array:
        try:
            return self._pass(caches)
        except REFUSALS as error:
            kind = type(self._model).__module__.rpartition(".")[2]
            if self._kv_bits is not None:
                raise UnsupportedModel(
                    f"{kind} cannot run with keys and values of {self._kv_bits} bits ({error}). "
                    "Leave kv_bits out."
                ) from error
            raise UnsupportedModel(
                f"{kind} cannot run with a cache that rewinds ({error}). "
                "Use another model: `mlx-spec pairs` lists some that work."
            ) from error
