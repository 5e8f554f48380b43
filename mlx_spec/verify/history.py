"""The repetition penalty of each row of a pass, by the tokens before it (Keskar et al. 2019, CTRL, section
4.1)."""

import mlx.core as mx
from jaxtyping import Float, Int

from mlx_spec.arrays import Tree, entry
from mlx_spec.types import MAX_DRAFT_LENGTH, Options


class History:
    """The penalty of one sequence of `length` tokens. Does nothing while it is off."""

    def __init__(
        self, options: Options, tokens: Int[mx.array, "b capacity"], sequence: int, length: int | mx.array
    ):
        self.sequence = sequence
        self.penalty = options.repetition_penalty
        # Of the last row of a draft too, all tokens before it: a text may fill `tokens`.
        self.window = min(options.repetition_context, tokens.shape[1] + MAX_DRAFT_LENGTH)
        if self.penalty != 1:
            places = length - self.window + mx.arange(self.window)
            self._before = tokens[sequence, mx.maximum(places, 0)]

    def penalise(
        self, logits: Float[mx.array, "rows vocab"], first: int, drafted: Int[mx.array, "b n"]
    ) -> Float[mx.array, "rows vocab"]:
        """Penalties for rows `first`, `first + 1`, ... of its chain."""
        if self.penalty == 1:
            return logits
        tokens = mx.concatenate([self._before, entry(drafted, self.sequence)])
        rows = mx.arange(first, first + logits.shape[0])[:, None] + mx.arange(self.window)[None]
        return self._penalised(logits, tokens[rows])

    def penalise_tree(
        self, logits: Float[mx.array, "rows vocab"], drafted: Int[mx.array, "b n"], tree: Tree
    ) -> Float[mx.array, "rows vocab"]:
        """The same for the rows of its tree: each by the tokens on its own path."""
        if self.penalty == 1:
            return logits
        parents, depths = entry(tree.parents, self.sequence), entry(tree.depths, self.sequence)[:, None]
        tokens = mx.concatenate([self._before[-1:], entry(drafted, self.sequence)])
        back = mx.arange(self.window)[None]
        paths, row = [], mx.arange(logits.shape[0])
        for _ in range(min(self.window, logits.shape[0])):
            paths.append(tokens[row])
            row = parents[row]
        own = mx.pad(mx.stack(paths, axis=1), [(0, 0), (0, self.window - len(paths))])
        older = self._before[mx.clip(self.window - 1 - (back - depths), 0, self.window - 1)]
        return self._penalised(logits, mx.where(back < depths, own, older))

    def _penalised(self, logits: mx.array, recent: mx.array) -> mx.array:
        """Each row by its own recent tokens, `[rows, seen]`."""
        recent = mx.clip(recent, 0, logits.shape[-1] - 1)
        chosen = mx.take_along_axis(logits, recent, axis=-1)
        chosen = mx.where(chosen < 0, chosen * self.penalty, chosen / self.penalty)
        return mx.put_along_axis(logits, recent, chosen, axis=-1)
