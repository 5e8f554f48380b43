"""A batch of texts on the device, and the rounds in flight.

Rounds are submitted without waiting, so the length of a text lives on the device and the host knows bounds
of it. When texts join or leave, a new batch is made. Each text has a place in it; a place may be free: what a
round writes there is not used, and lies behind the rows that are kept there.
"""

from collections import deque
from dataclasses import dataclass, replace

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Pass, Tree, Verdict, draft_fault, put_rows, take_rows
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter
from mlx_spec.errors import SpecError
from mlx_spec.target.cache import CAPACITY_STEP, round_up
from mlx_spec.text import Text
from mlx_spec.types import Options, Round
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier


@dataclass(frozen=True, slots=True)
class Flight:
    """A round that was submitted and not yet read."""

    result: mx.array
    """`[b, ...]`: accepted count and drafted tokens (if any), tokens gained, shadow results."""
    draft: Draft
    drafter: Drafter | None
    candidate: Candidate
    length: int
    """Tokens of the longest text when it was planned, as far as they were read."""
    draft_seconds: float | None
    in_flight: int
    """Rounds in flight while it runs, as planned."""
    steady: bool
    """An ordinary round of its kind (no shadow draft, prompt tail or missed tokens, not timed in two parts),
    submitted with just those rounds in flight, all of its drafter."""
    likeliness: mx.array | None = None
    """Of the tokens gained, if one of the texts asks for it."""

    def unpack(self, row: list[int], seconds: float, steady: bool) -> tuple[Round, list[bool]]:
        """One text's row of the result: its round, not cut where the text ends, and for each of its latest
        tokens whether the shadow draft predicted it."""
        draft, name = self.draft, self.drafter.name if self.drafter else "none"
        begin = 1 + draft.tokens.shape[1] if draft.depth else 0
        accepted = row[0] if draft.depth else 0
        drafted, tokens = tuple(row[1:begin]), tuple(row[begin : begin + accepted + 1])
        read = Round(
            drafted, accepted, tokens, name, seconds, None, self.draft_seconds, steady, draft.tree_depth
        )
        return read, [bool(right) for right in row[begin + draft.depth + 1 :]]


class Batch:
    """Texts of equal or different lengths; usually one.

    Args:
        places: the text at each place; None: free.
        kept: by place: rows of the target's caches that are kept while it is free.
    """

    def __init__(self, places: list[Text | None], kept: list[int], vocab: int, context_limit: int):
        self.places = places
        self.live = [text for text in places if text]
        """Those that have not ended."""
        self.context_limit, self.vocab = context_limit, vocab
        self._idle = Verifier(Options(), vocab)
        shortest = min(len(text.tokens) for text in self.live)
        # A free place has at least the shortest text's length, so that layers with a window do not read it
        # from further back, and at least 2: a first draft may leave out a text's first token.
        self._free = {i: max(kept[i] + 1, shortest, 2) for i, text in enumerate(places) if not text}
        """By free place: the length that passes take it to have."""
        capacity = round_up(max(len(text.tokens) for text in self.live), CAPACITY_STEP)
        self.tokens = mx.zeros((len(places), capacity), mx.int32)
        """`[b, capacity]`, meaningless from `length` on."""
        self.pending: deque[Flight] = deque()
        self.unseen = 1
        """Tokens at the end of the texts that the target has not seen: one, more in the first round."""
        self.no_draft = Draft.none(len(places))
        """A plain round's draft."""
        self.likeliest = max((t.likeliest for t in self.live if t.likeliest is not None), default=None)
        """The largest `Text.likeliest`; None: none is set."""
        self._alive = mx.array([text is not None for text in places], mx.int32) if self._free else None
        """`[b]`, 0 at free places; None: there are none."""
        for i, text in enumerate(places):
            if text:
                self.tokens[i, : len(text.tokens)] = mx.array(text.tokens, mx.int32)
        self._settle()
        self._reserve(self.length.high)

    @property
    def texts(self) -> list[list[int]]:
        """The texts as far as the host has read them; empty at free places."""
        return [text.tokens if text else [] for text in self.places]

    @property
    def numbers(self) -> list[int]:
        """The text's number at each place, -1 at free ones."""
        return [text.number if text else -1 for text in self.places]

    def context(self, nodes: int) -> Context:
        """What a drafter is shown."""
        return Context(self.texts, self.tokens, self.length, nodes)

    def verifier(self, depth: int) -> BatchVerifier:
        """The verifier of a round that drafts `depth` tokens after one another."""
        verifiers = [text.verifier if text else self._idle for text in self.places]
        return BatchVerifier(verifiers, self.tokens, self.length, depth)

    def checked(self, draft: Draft, drafter: str, depth: int) -> Draft:
        """The draft, its ids as int32. SpecError if it is none for these texts: MLX would say so late."""
        if fault := draft_fault(draft, len(self.places), depth, self.vocab):
            raise SpecError(f"The drafter {drafter} is wrong: {fault}. See `Draft` in mlx_spec/arrays.py.")
        if draft.tokens.dtype != mx.int32:  # `mx.argmax` gives uint32
            draft = replace(draft, tokens=draft.tokens.astype(mx.int32))
        return draft

    def room(self) -> int:
        """Tokens that can be drafted: a round gains at most one more. Below 0, those in flight may be all."""
        wanted = max(s.limit - len(s.tokens) for s in self.live) - len(self.pending)
        return min(wanted, self.context_limit - self.length.high) - 1

    def next_pass(self, draft: Draft) -> Pass:
        """The target's pass over the unseen tokens and the draft."""
        unseen, self.unseen = self.unseen, 1
        start = self.length.plus(-unseen)
        ids = take_rows(self.tokens, start.value, unseen)
        if draft.tokens.shape[1]:
            # MLX checks no bounds: an id outside the vocabulary is read as one inside, and not accepted.
            ids = mx.concatenate([ids, mx.clip(draft.tokens, 0, self.vocab - 1)], axis=1)
        return Pass(ids, start, draft, Tree.of(draft))

    def append(self, draft: Draft, verdict: Verdict) -> mx.array:
        """Append the tokens gained to the texts. Returns `Flight.result`, for the host to read."""
        count, length = draft.depth + 1, self.length
        self._reserve(length.high + count)
        self.tokens = put_rows(self.tokens, verdict.tokens, length.value, axis=1)
        grown = verdict.accepted + 1 if draft.depth else 1
        if self._alive is not None:
            grown = grown * self._alive
        self.length = Length(length.value + grown, length.low + 1, length.high + count)
        parts = [verdict.accepted[:, None], draft.tokens] if draft.depth else []
        parts += [verdict.tokens, *([] if draft.shadow is None else [draft.shadow])]
        return mx.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def submit(self, flight: Flight) -> None:
        """Start a round that was built."""
        self.pending.append(flight)
        likely = [] if flight.likeliness is None else [flight.likeliness]
        mx.async_eval(flight.result, self.tokens, *likely)

    def read(self) -> tuple[Flight, list[list[int]], list[list[list[float]]]]:
        """Wait for the oldest round in flight, the one host read of a round: (it, result, likeliness)."""
        flight = self.pending.popleft()
        rows: list[list[int]] = flight.result.tolist()  # type: ignore[assignment]
        likely: list[list[list[float]]] = [[] for _ in rows]
        if flight.likeliness is not None:
            likely = flight.likeliness.tolist()  # type: ignore[assignment]
        return flight, rows, likely

    def settled(self) -> None:
        """Update the live texts and the bounds of the length, after the texts were extended."""
        self.live = [s for s in self.live if not s.ended]
        if self.live:
            self._settle()

    def _settle(self) -> None:
        lengths, free = [len(s.tokens) for s in self.live], self._free.values()
        self.longest = max(lengths)
        """Tokens of the longest text, as far as the host has read it."""
        low = min([min(lengths) + len(self.pending), *free])
        high = max([self.longest + sum(flight.draft.depth + 1 for flight in self.pending), *free])
        value = low
        if low < high or free:
            exact = (len(text.tokens) if text else self._free[i] for i, text in enumerate(self.places))
            value = self.length.value if self.pending else mx.array([*exact], mx.int32)
        self.length = Length(value, low, high)

    def _reserve(self, end: int) -> None:
        more = round_up(end, CAPACITY_STEP) - self.tokens.shape[1]
        if more > 0:
            self.tokens = mx.pad(self.tokens, [(0, 0), (0, more)])
            # Rows grow too: MLX keeps the smaller buffers that they leave, which nothing fits into again.
            mx.clear_cache()
