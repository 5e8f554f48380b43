"""Prompt lookup: copy what followed the longest earlier occurrence of the text's ending.

Free, exact and strong where the answer repeats its prompt (editing, summaries, code). A suffix
automaton over documents, prompt and answer (SAM-Decoding, Hu et al. 2024, arXiv 2411.10666) finds
the longest match in constant time per token; the latest occurrence wins.
"""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.drafters import Context
from mlx_spec.policy.plan import Offer
from mlx_spec.verify.verifiers import NO_DRAFT, Draft, RoundRule, RuleBook

MIN_MATCH = 3
"""Shorter endings occur by chance."""
LINKS_REFRESHED = 32
"""How many shorter endings learn of a new occurrence; bounds the work on "aaaa"."""
OFFERS = {
    least: Offer("lookup", f"lookup {least}+", prior, limit=2 * least - 1)
    for least, prior in ((16, 0.9), (8, 0.8), (5, 0.6), (MIN_MATCH, 0.3))
}
"""By the length of the match, at least: the longer, the surer and the longer the copy. A draft model's
first token is about as sure as one after a match of five."""


class SuffixAutomaton:
    """Every substring of a growing token sequence, each with where it ended last (Blumer et al. 1985)."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._size = [0]
        self._end = [-1]
        self._last = 0

    def extend(self, token: int) -> None:
        """Add one token. Amortised constant time."""
        self._refresh()
        here = self._state(self._size[self._last] + 1, {}, len(self.tokens))
        self.tokens.append(token)
        at = self._last
        while at >= 0 and token not in self._next[at]:
            self._next[at][token] = here
            at = self._link[at]
        self._link[here] = self._split(at, token) if at >= 0 else 0
        self._last = here

    def longest_match(self) -> tuple[int, int]:
        """(length of the longest ending that occurred before, index after its latest occurrence)."""
        state = self._link[self._last]
        return (0, 0) if state <= 0 else (self._size[state], self._end[state] + 1)

    def _split(self, at: int, token: int) -> int:
        onward = self._next[at][token]
        if self._size[onward] == self._size[at] + 1:
            return onward
        copy = self._state(self._size[at] + 1, dict(self._next[onward]), self._end[onward])
        self._link[copy] = self._link[onward]
        self._link[onward] = copy
        while at >= 0 and self._next[at].get(token) == onward:
            self._next[at][token] = copy
            at = self._link[at]
        return copy

    def _refresh(self) -> None:
        """Let the endings of the text so far know where they last ended, before the text goes on."""
        state, left = self._link[self._last], LINKS_REFRESHED
        while state > 0 and left:
            self._end[state] = len(self.tokens) - 1
            state, left = self._link[state], left - 1

    def _state(self, size: int, onward: dict[int, int], end: int) -> int:
        self._next.append(onward)
        self._link.append(0)
        self._size.append(size)
        self._end.append(end)
        return len(self._size) - 1


class LookupDrafter:
    """Copies from prompt, answer and documents; an empty draft where nothing matches."""

    name = "lookup"
    reads_host = True

    def __init__(self) -> None:
        self._automaton = SuffixAutomaton()
        self._documents: list[list[int]] = []
        self._indexed: list[int] = []
        self._hindsight: list[tuple[Offer, bool]] = []

    def begin(self, tokens: Sequence[int], documents: Sequence[Sequence[int]]) -> None:
        given = [list(document) for document in documents]
        if given != self._documents or list(tokens[: len(self._indexed)]) != self._indexed:
            self._automaton, self._documents, self._indexed = SuffixAutomaton(), given, []
            for number, document in enumerate(given):
                for token in (*document, -1 - number):  # a border that matches nothing
                    self._automaton.extend(token)
        for token in tokens[len(self._indexed) :]:
            self._index(token)
        self._hindsight = []

    def offer(self) -> Offer | None:
        size = self.match_length
        return next((offer for least, offer in OFFERS.items() if size >= least), None)

    def draft(self, context: Context, length: int, rule: RoundRule) -> Draft:
        tokens = self.propose(length)
        return Draft(mx.array(tokens, mx.int32)) if tokens else NO_DRAFT

    def propose(self, length: int) -> list[int]:
        """What followed the longest earlier occurrence, repeated with its period at the text's end."""
        size, start = self._automaton.longest_match()
        if size < MIN_MATCH:
            return []
        known = self._automaton.tokens
        period = len(known) - start
        copied: list[int] = []
        for i in range(length):
            token = known[start + i] if i < period else copied[i - period]
            if token < 0:
                break
            copied.append(token)
        return copied

    @property
    def match_length(self) -> int:
        """How many of the text's last tokens were seen before, in this order."""
        return self._automaton.longest_match()[0]

    def review(self, context: Context, book: RuleBook) -> mx.array:
        raise NotImplementedError("its offers say that it tells by itself: hindsight")

    def hindsight(self) -> Sequence[tuple[Offer, bool]]:
        said, self._hindsight = self._hindsight, []
        return said

    def skipped(self, count: int) -> None:
        """Nothing to do: the automaton is fed by `keep`, whoever drafted."""

    def keep(self, known: Sequence[int]) -> None:
        for token in known[len(self._indexed) :]:
            if offer := self.offer():
                self._hindsight += [(offer, guess == token) for guess in self.propose(1)]
            self._index(token)

    def _index(self, token: int) -> None:
        self._automaton.extend(token)
        self._indexed.append(token)
