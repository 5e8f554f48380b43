"""The target's own runners-up: what it found likely after a token is drafted when the token comes again.

Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696), as a chain: a table of the likeliest next tokens
per token, from every row of every round, accepted or not. No training, no model of its own, and nothing
leaves the device.
"""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.verify.batch import BatchVerifier

CANDIDATE = Candidate("recycling", "recycling", prior=0.3, limit=7)
"""The likelihood that a chain holds falls quickly with its length."""


class RecyclingDrafter(Drafter):
    """Drafts the likeliest token after the last one, as the target last saw it, and so on."""

    name = "recycling"

    def __init__(self) -> None:
        self._next: mx.array | None = None
        """`[vocab]`, the likeliest token after each."""

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return () if self._next is None else (CANDIDATE,)

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        assert self._next is not None, "there is no candidate before a round was observed"
        tokens = [context.last(1)]
        for _ in range(depth):
            tokens.append(self._next[tokens[-1]])
        return Draft.chain(mx.concatenate(tokens[1:], axis=1) if depth else tokens[0][:, :0])

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None:
            return  # logits of a prompt are not computed but for its last token
        if self._next is None:
            self._next = mx.zeros((output.logits.shape[-1],), mx.int32)
        best = mx.argmax(output.logits, axis=-1).astype(mx.int32)
        self._next[p.ids.reshape(-1)] = best.reshape(-1)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        if self._next is not None:
            mx.async_eval(self._next)  # or the graph would grow while others draft
        return ()
