"""Prompt lookup: copy what followed the longest earlier occurrence of the text's ending.

Free, exact and strong where the answer repeats its prompt (editing, summaries, code). A suffix
automaton over documents, prompt and answer (SAM-Decoding, Hu et al. 2024, arXiv 2411.10666) finds
the longest match in constant time per token; the latest occurrence wins.
"""

from collections.abc import Sequence

from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate, by_kind
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.verify.batch import BatchVerifier

MIN_MATCH = 3
"""Shorter endings occur by chance."""
LINKS_REFRESHED = 32
"""How many shorter endings are updated with a new occurrence; bounds the work on "aaaa"."""
CANDIDATES = {
    least: Candidate("lookup", f"lookup {least}+", prior, limit=2 * least - 1, host_text=True)
    for least, prior in ((16, 0.9), (8, 0.8), (5, 0.6), (MIN_MATCH, 0.3))
}
"""By minimum match length: the longer the match, the higher the acceptance rate and the longer the copy. A
draft model's first token is accepted about as often as one after a match of five."""


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
        """Note for the endings of the text so far that they occurred here, before the text goes on."""
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


class LookupDrafter(Drafter):
    """Copies from prompt, answer and documents."""

    name = "lookup"

    def __init__(self) -> None:
        self._copiers: list[Copier] = []

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        known, self._copiers = self._copiers, []
        for text, given in zip(texts, documents, strict=True):
            copier = next((copier for copier in known if copier.continues(text, given)), None)
            if copier:
                known.remove(copier)
            copier = copier or Copier(given)
            copier.index(text)
            self._copiers.append(copier)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return by_kind([copier.candidate() for copier in self._copiers])

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        return Draft.padded([copier.copy(depth) for copier in self._copiers])

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        copiers, self._copiers = self._copiers, []  # one that is interrupted is not used again
        pairs = zip(copiers, texts, strict=True)
        shadows = [(i, *shadow) for i, (copier, text) in enumerate(pairs) for shadow in copier.read(text)]
        self._copiers = copiers
        return shadows


class Copier:
    """One text with its documents: what followed earlier occurrences of its ending."""

    def __init__(self, documents: Texts):
        self._documents = documents
        self._automaton = SuffixAutomaton()
        for number, document in enumerate(documents):
            for token in (*document, -1 - number):  # a border that matches nothing
                self._automaton.extend(token)
        self._begin = len(self._automaton.tokens)

    @property
    def _indexed(self) -> int:
        """How many tokens of the text."""
        return len(self._automaton.tokens) - self._begin

    def continues(self, tokens: Sequence[int], documents: Texts) -> bool:
        """Whether `tokens` begin with all that was indexed, beside the same documents."""
        same = self._automaton.tokens[self._begin :] == list(tokens[: self._indexed])
        return self._indexed > 0 and same and self._documents == documents

    def index(self, tokens: Sequence[int]) -> None:
        """Index the new tokens: of a prompt, while others wait."""
        for token in tokens[self._indexed :]:
            self._automaton.extend(token)

    def read(self, tokens: Sequence[int]) -> list[tuple[Candidate, list[bool]]]:
        """Index the new tokens. Returns whether a copy of one token would have predicted each."""
        shadows: list[tuple[Candidate, list[bool]]] = []
        for token in tokens[self._indexed :]:
            if candidate := self.candidate():
                shadows += [(candidate, [guess == token]) for guess in self.copy(1)]
            self._automaton.extend(token)
        return shadows

    def candidate(self) -> Candidate | None:
        """The candidate for the current match length."""
        size = self._automaton.longest_match()[0]
        if size < MIN_MATCH:
            return None
        return next(candidate for least, candidate in CANDIDATES.items() if size >= least)

    def copy(self, length: int) -> list[int]:
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
