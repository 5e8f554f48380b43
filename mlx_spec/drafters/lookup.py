"""Prompt lookup: copy what followed the longest earlier occurrence of the text's ending.

Free, exact and strong where the answer repeats its prompt (editing, summaries, code; Saxena 2023). It looks
through documents, prompt and answer, by chains of the places after the same tokens, as DEFLATE does
(RFC 1951, section 4); the latest of equally long occurrences wins.
"""

from collections.abc import Sequence

from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate, by_kind
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.verify.batch import BatchVerifier

MIN_MATCH = 3
"""Shorter endings occur by chance."""
LONGEST = 32
"""Tokens of a match that are compared, at most: a longer one predicts no better."""
TRIED = 64
"""Earlier occurrences that are compared, the latest ones; bounds the work on "aaaa"."""
CANDIDATES = {
    least: Candidate("lookup", f"lookup {least}+", prior, limit=2 * least - 1, host_text=True)
    for least, prior in ((16, 0.9), (8, 0.8), (5, 0.6), (MIN_MATCH, 0.3))
}
"""By minimum match length: the longer the match, the higher the acceptance rate and the longer the copy. A
draft model's first token is accepted about as often as one after a match of five."""


class Copier:
    """One text with its documents: what followed earlier occurrences of its ending."""

    def __init__(self, documents: Texts):
        self.tokens: list[int] = []
        """Of all documents, and then of the text."""
        self._latest: dict[tuple[int, ...], int] = {}
        """The place after the latest occurrence of these tokens that is followed by another."""
        self._earlier: list[int] = []
        """By place: the one after the occurrence before of the same tokens, -1 if there is none."""
        self._match: tuple[int, int] | None = (0, 0)
        self._documents = documents
        for number, document in enumerate(documents):
            for token in (*document, -1 - number):  # a border that matches nothing
                self.extend(token)
        self._begin = len(self.tokens)

    @property
    def _indexed(self) -> int:
        """How many tokens of the text."""
        return len(self.tokens) - self._begin

    def continues(self, tokens: Sequence[int], documents: Texts) -> bool:
        """Whether `tokens` begin with all that was indexed, beside the same documents."""
        same = self.tokens[self._begin :] == list(tokens[: self._indexed])
        return self._indexed > 0 and same and self._documents == documents

    def index(self, tokens: Sequence[int]) -> None:
        """Index the new tokens: of a prompt, while others wait."""
        for token in tokens[self._indexed :]:
            self.extend(token)

    def read(self, tokens: Sequence[int]) -> list[tuple[Candidate, list[bool]]]:
        """Index the new tokens. Returns whether a copy of one token would have predicted each."""
        shadows: list[tuple[Candidate, list[bool]]] = []
        for token in tokens[self._indexed :]:
            if candidate := self.candidate():
                shadows += [(candidate, [guess == token]) for guess in self.copy(1)]
            self.extend(token)
        return shadows

    def candidate(self) -> Candidate | None:
        """The candidate for the current match length."""
        size = self.longest_match()[0]
        return next((candidate for least, candidate in CANDIDATES.items() if size >= least), None)

    def copy(self, length: int) -> list[int]:
        """What followed the longest earlier occurrence, repeated with its period at the text's end."""
        size, start = self.longest_match()
        if not size:
            return []
        period = len(self.tokens) - start
        copied: list[int] = []
        for i in range(length):
            token = self.tokens[start + i] if i < period else copied[i - period]
            if token < 0:
                break
            copied.append(token)
        return copied

    def extend(self, token: int) -> None:
        """Add one token."""
        self._match, ending = None, self._ending
        self._earlier.append(self._latest.get(ending, -1))
        self._latest[ending] = len(self.tokens)
        self.tokens.append(token)

    def longest_match(self) -> tuple[int, int]:
        """(tokens of the longest ending that occurred before, at most `LONGEST`, the place after it); (0, 0)
        for one of fewer than `MIN_MATCH` tokens."""
        if self._match is None:
            self._match = self._search()
        return self._match

    def _search(self) -> tuple[int, int]:
        found, place, tried = (0, 0), self._latest.get(self._ending, -1), 0
        while place >= MIN_MATCH and tried < TRIED and found[0] < LONGEST:
            if (size := self._shared(place)) > found[0]:
                found = size, place
            place, tried = self._earlier[place], tried + 1
        return found

    @property
    def _ending(self) -> tuple[int, ...]:
        return tuple(self.tokens[-MIN_MATCH:])

    def _shared(self, place: int) -> int:
        """How many tokens before `place` are those at the end."""
        known, end, size = self.tokens, len(self.tokens), MIN_MATCH
        while size < min(LONGEST, place) and known[place - size - 1] == known[end - size - 1]:
            size += 1
        return size


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
