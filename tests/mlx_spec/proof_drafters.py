"""Drafters that prove the seams of the engine: trees of any shape, and heads that read hidden states."""

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.arrays import Draft, Length, Output, Pass, Tree, Verdict, take_rows
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier

CHAIN = (0, 1, 2, 3)
BINARY = (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
LOPSIDED = (0, 0, 0, 1, 1, 3, 4, 7)
SHAPES = {"chain": CHAIN, "binary": BINARY, "lopsided": LOPSIDED}


class Branching(Drafter):
    """The best few tokens of a draft model at each node of a tree whose shape is given."""

    name = "branching"
    trees = True

    def __init__(self, model: nn.Module, parents: Sequence[int]):
        self.cached = Model(model)
        self.cached.allow_trees()
        self.models = (self.cached,)
        self.parents = parents
        self.depths = [0]
        for parent in parents:
            self.depths.append(self.depths[parent] + 1)
        self.depth = max(self.depths)

    def rearrange(self, order: Sequence[int]) -> None:
        self.cached.rearrange(order)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return [Candidate(self.name, "branching", 0.9, limit=self.depth, host_text=True)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        b = len(context.host_tokens)
        for i, text in enumerate(context.host_tokens):
            if text:
                self.cached.prefill(text, len(text) - 1, sequence=i)
            else:
                self.cached.overwrite(context.length.low - 1, i)
        if not self.trees:
            return Draft.chain(mx.zeros((b, depth), mx.int32))
        nodes = [i for i, d in enumerate(self.depths[1:]) if d <= depth]
        count = len(nodes)
        assert nodes == list(range(count)), "a shape lists its nodes by depth or is drafted whole"
        parents = mx.broadcast_to(mx.array([self.parents[:count]], mx.int32), (b, count))
        reach = max(self.depths[: count + 1])
        columns = [mx.zeros((b, 1), mx.int32)] * count
        for level in range(reach):
            draft = Draft(mx.concatenate(columns, axis=1), reach, parents)
            ids = mx.concatenate([context.last(1), draft.tokens], axis=1)
            p = Pass(ids, context.length.plus(-1), draft, Tree.of(draft))
            logits = self.cached.forward(p).logits
            for parent in [row for row in range(count + 1) if self.depths[row] == level]:
                scores = verifier.scores(logits[:, parent], level, self._path(columns, parent, b))
                best = mx.argsort(-scores, axis=-1).astype(mx.int32)
                children = [i for i in range(count) if self.parents[i] == parent]
                for rank, child in enumerate(children):
                    columns[child] = best[:, rank : rank + 1]
        return Draft(mx.concatenate(columns, axis=1), reach, parents)

    def _path(self, columns: list[mx.array], row: int, b: int) -> mx.array:
        path: list[mx.array] = []
        while row:
            path.insert(0, columns[row - 1])
            row = self.parents[row - 1]
        return mx.concatenate(path, axis=1) if path else mx.zeros((b, 0), mx.int32)


class Head(Drafter):
    """An untrained linear head on a hidden state of the target: the next token but one, from the last row."""

    name = "head"

    def __init__(self, layer: int, weights: mx.array):
        self.taps = (layer,)
        self.layer, self.weights = layer, weights
        self.observed: list[tuple[int, int]] = []
        """(first position, rows) of each pass seen; of the text that is furthest."""
        self.state: mx.array | None = None

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return [Candidate(self.name, "head", 0.5, limit=1)] if self.state is not None else []

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        assert self.state is not None
        logits = self.state @ self.weights
        empty = mx.zeros((len(logits), 0), mx.int32)
        tokens, probs = verifier.propose(logits, 0, empty)
        return Draft.chain(tokens, probs)

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        hidden = output.hidden[self.layer]
        self.observed.append((int(mx.array(p.start.value).max()), hidden.shape[1]))
        if verdict is not None:
            # The row of the last accepted token: the state of the newest token that was read.
            row = verdict.accepted + (hidden.shape[1] - verdict.path.shape[1])
            self.state = take_rows(hidden, row, 1)[:, 0]
