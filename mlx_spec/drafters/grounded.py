"""Lookup in the user's own documents: copy what followed the longest match of the text's ending.

Retrieval-based drafting (REST, He et al., NAACL 2024, arXiv 2311.08252) over stores that may be far larger
than a prompt; a search takes microseconds (`mlx_spec.token_store`). It does not draft without a long match.
"""

from collections.abc import Sequence

from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate, by_kind
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.token_store import DEPTH, TokenStore
from mlx_spec.verify.batch import BatchVerifier

CANDIDATES = {
    least: Candidate("grounded", f"grounded {least}+", prior, limit=2 * least - 1, host_text=True)
    for least, prior in ((DEPTH, 0.7), (8, 0.6), (5, 0.35))
}
"""By minimum match length. Among millions of tokens shorter matches occur by chance, and longer ones predict
less well than in the text itself."""


Found = tuple[Candidate, list[int]]
"""The match of one text's ending: its candidate, and the tokens after it, at least one in an intact store."""


class GroundedDrafter(Drafter):
    """Copies from stores of documents."""

    name = "grounded"

    def __init__(self, stores: Sequence[TokenStore]) -> None:
        self._stores = stores
        self._read: list[int] = []
        """Tokens of each text that were read, and the match of their ending."""
        self._found: list[Found | None] = []

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        self._read = [len(text) for text in texts]
        self._found = [self._search(text) for text in texts]

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return by_kind([found and found[0] for found in self._found])

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        return Draft.padded([found[1][:depth] if found else [] for found in self._found])

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        return [shadow for i, text in enumerate(texts) for shadow in self._follow(i, text)]

    def _follow(self, i: int, text: Sequence[int]) -> list[Shadow]:
        """Read the new tokens. Returns whether a copy of one token would have predicted each."""
        shadows: list[Shadow] = []
        for place in range(self._read[i], len(text)):
            if found := self._found[i]:
                candidate, copy = found
                shadows.append((i, candidate, [copy[:1] == [text[place]]]))
            self._found[i] = self._search(text[max(0, place + 1 - DEPTH) : place + 1])
        self._read[i] = len(text)
        return shadows

    def _search(self, text: Sequence[int]) -> Found | None:
        """The longest match in any store."""
        matches = [(*store.longest_match(text), store) for store in self._stores]
        size, place, store = max(matches, key=lambda match: match[0])
        candidate = next((candidate for least, candidate in CANDIDATES.items() if size >= least), None)
        return (candidate, store.following(place, candidate.limit)) if candidate else None
