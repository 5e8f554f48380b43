"""Lookahead decoding: the target guesses several positions ahead at once, and earlier guesses are drafted.

Fu et al., ICML 2024 (arXiv 2402.02057). Beside the draft, each pass of the target carries a window of
guesses for the positions ahead, and improves them by one step (Jacobi iteration). The successive guesses in a
column of the window are an n-gram: it is stored by its first token, and drafted when that token ends the
text. No training, no model of its own, and nothing leaves the device.

Cell (row, column) of the window is row + column positions after the text's last token, which is cell (0, 0).
Row 0 is a chain and each column continues its cell in row 0: with the n-grams beside it this is one tree, so
one pass verifies all, and cells of the window can be accepted too.
"""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict, last_of_each
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Texts
from mlx_spec.verify.batch import BatchVerifier

WINDOW, NGRAM, GUESSES = 4, 3, 3
"""Columns of the window, tokens of an n-gram, n-grams kept for each token. Small, as every row costs."""


class LookaheadDrafter(Drafter):
    """Drafts n-grams that the target guessed, and lets it guess new ones.

    Args:
        window: columns; the paper's W.
        ngram: tokens of an n-gram, its first one included, at least 2; the paper's N.
        guesses: n-grams that are kept and drafted for a token; the paper's G.
    """

    name = "lookahead"
    trees = True
    by_name = True  # it gains little over the rows it costs, and nothing beside other drafters

    def __init__(self, window: int = WINDOW, ngram: int = NGRAM, guesses: int = GUESSES):
        self._columns, self._rows, self._guesses = window, ngram - 1, guesses
        self._candidate = Candidate(self.name, self.name, prior=0.3, limit=max(window + ngram - 3, ngram - 1))
        self._own: Draft | None = None
        self._grid = mx.zeros((0, 0), mx.int32)
        """`[ngram - 1, columns read]`, each cell's row in the pass over its own last draft."""
        self._known: mx.array | None = None
        """`[vocab, guesses, ngram - 1]`, the n-grams of each first token, without it; no two begin alike."""
        self._turn = mx.zeros((0,), mx.int32)
        """`[vocab]`, which of a token's n-grams is replaced next."""
        self._window = mx.zeros((0, 0, 0), mx.int32)
        """`[b, ngram - 1, window]`; cell (0, 0) is not used."""

    def forget(self) -> None:
        self._known = self._own = None

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        cells = self._rows * self._columns
        ends = [((list(text) or [0]) * cells)[-cells:] for text in (each[-cells:] for each in texts)]
        self._window = mx.array(ends, mx.int32).reshape(len(texts), self._rows, self._columns)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return (self._candidate,) if self.trees else ()

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        if self._known is None:
            self._known = mx.zeros((verifier.vocab, self._guesses, self._rows), mx.int32)
            self._turn = mx.zeros((verifier.vocab,), mx.int32)
        self._own = self._tree(self._known[context.last(1)[:, 0]], depth)
        return self._own

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None or p.draft is None or p.draft is not self._own or not self._grid.size:
            return
        rows = self._grid + (p.ids.shape[1] - 1 - p.draft.tokens.shape[1])
        best = mx.argmax(output.logits[:, rows[-1]], axis=-1).astype(mx.int32)
        grams = mx.concatenate([p.ids[:, rows], best[:, None]], axis=1)
        self._keep(grams.transpose(0, 2, 1).reshape(-1, self._rows + 1))
        stepped = mx.concatenate([grams[:, 1:], self._window[:, :, rows.shape[1] :]], axis=2)
        # Columns that the text has grown past begin anew at the far end.
        places = (mx.arange(self._columns) + verdict.accepted[:, None]) % self._columns
        self._window = mx.take_along_axis(stepped, mx.broadcast_to(places[:, None], stepped.shape), axis=2)

    def _tree(self, known: mx.array, depth: int) -> Draft:
        """The n-grams `known`, `[b, guesses, ngram - 1]`, and the columns that end within `depth`."""
        b, length = len(known), min(self._rows, depth)
        count = min(self._columns, depth - self._rows + 2)
        parents = [g * length + i if i else 0 for g in range(self._guesses) for i in range(length)]
        first = len(parents)
        grid = [[first + r * count + c if r or c else 0 for c in range(count)] for r in range(self._rows)]
        parents += grid[0][: count - 1] if count > 0 else []
        parents += [row for above in grid[:-1] for row in above]
        cells = self._window[:, :, : max(count, 0)].reshape(b, -1)[:, 1:]
        tokens = mx.concatenate([known[:, :, :length].reshape(b, -1), cells], axis=1)
        self._grid = mx.array(grid, mx.int32).reshape(self._rows, -1)
        reach = max(length, count + self._rows - 2)
        return Draft(tokens, reach, mx.broadcast_to(mx.array([parents], mx.int32), tokens.shape))

    def _keep(self, grams: mx.array) -> None:
        """Store n-grams `[n, ngram]`, each in place of one with the same first two tokens, else the next.

        Of several with the same first token the last one is stored.
        """
        assert self._known is not None
        grams = grams[last_of_each(grams[:, 0])]
        keys, tokens = grams[:, 0], grams[:, 1:]
        alike, turn = self._known[keys, :, 0] == tokens[:, :1], self._turn[keys]
        found = alike.any(axis=1)
        self._known[keys, mx.where(found, mx.argmax(alike, axis=1), turn)] = tokens
        self._turn[keys] = mx.where(found, turn, (turn + 1) % self._guesses)
