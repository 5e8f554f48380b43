"""A head's guesses mixed with copies: what followed the latest earlier occurrence of the text's end.

A head is small and sees its target's states through one layer: it rarely finds what the text repeats, and a
search in the text does. As in a continuous cache (Grave et al. 2017, arXiv 1612.04426) and in a mixture
with a pointer (Merity et al. 2017, arXiv 1609.07843), a copy adds to the probability of its token, by how
often such copies are right: so it is drafted where the head is less sure than that.
"""

import mlx.core as mx
from jaxtyping import Float, Int

from mlx_spec.arrays import Length, take_rows
from mlx_spec.verify.batch import Drafted, Logits, Proposal, Proposer, Tokens

RIGHT = (0.0, 0.2, 0.5, 0.7)
"""How often a copy is right, by the tokens that match: 0, 1, 2, and 3 or more."""
MATCH = len(RIGHT) - 1
FAR = 2**28
"""More than any text has tokens. The capacity in its place would be part of the compiled kernel: another one
would be built for each capacity."""


class Copying(Proposer):
    """Proposes by a head's guesses and copies from the texts.

    Args:
        verifier: of the round, or of an earlier one.
        tokens: `[b, capacity]`, the texts; meaningless from `length` on.
    """

    def __init__(self, verifier: Proposer, tokens: Int[mx.array, "b capacity"], length: Length):
        self._verifier, self._tokens, self._length = verifier, tokens, length
        self.vocab = verifier.vocab

    def scores(self, logits: Logits, index: int, drafted: Drafted) -> Logits:
        mixed = self._mixed(logits[:, None], self._length, drafted, index)[:, 0]
        return self._verifier.scores(mixed, index, drafted)

    def propose(self, logits: Logits, index: int, drafted: Drafted) -> Proposal:
        mixed = self._mixed(logits[:, None], self._length, drafted, index)[:, 0]
        return self._verifier.propose(mixed, index, drafted)

    def guesses(self, logits: Float[mx.array, "b rows vocab"], known: Tokens) -> Tokens:
        before = self._length.plus(-known.shape[1])
        return self._verifier.guesses(self._mixed(logits, before, known[:, :-1], 0), known)

    def _mixed(self, logits: mx.array, length: Length, after: mx.array, first: int) -> mx.array:
        """The logits of consecutive positions, the first of them `first` tokens after `length`.

        Args:
            after: `[b, n]`, the tokens from there on.
        """
        if length.low < MATCH:
            return logits
        text = mx.concatenate([take_rows(self._tokens, length.plus(-MATCH).value, MATCH), after], axis=1)
        rows = logits.shape[1]
        ends = mx.stack([text[:, first + i : first + i + rows] for i in range(MATCH)], axis=-1)
        return mixed(logits, *copies(self._tokens, mx.array(length.value), ends))


@mx.compile
def copies(
    tokens: Int[mx.array, "b capacity"], length: Int[mx.array, "..."], ends: Int[mx.array, "b rows match"]
) -> tuple[Int[mx.array, "b rows"], Float[mx.array, "b rows"]]:
    """(what followed the longest, then latest occurrence of each end in the text, how often it is right)."""
    capacity = tokens.shape[1]
    before = mx.pad(tokens, [(0, 0), (MATCH, 0)], constant_values=-1)
    alike, size = mx.array(True), mx.array(0)
    for i in range(1, MATCH + 1):
        alike = alike & (before[:, None, MATCH - i : MATCH - i + capacity] == ends[:, :, -i, None])
        size = size + alike
    places = mx.arange(capacity)
    known = places < length.reshape(-1, 1, 1)
    best = mx.argmax(mx.where(known, size * FAR + places, -1), axis=-1)
    size = mx.take_along_axis(mx.where(known, size, 0), best[:, :, None], axis=-1)[:, :, 0]
    return mx.take_along_axis(tokens, best, axis=1), mx.array(RIGHT)[size]


def mixed(
    logits: Float[mx.array, "b rows vocab"], copied: Int[mx.array, "b rows"], right: Float[mx.array, "b rows"]
) -> Float[mx.array, "b rows vocab"]:
    """Logits, where the copied token's probability is higher by `right`."""
    known = copied < logits.shape[-1]  # a head may know fewer tokens than the target
    copied, right = mx.where(known, copied, 0)[:, :, None], mx.where(known, right, 0)[:, :, None]
    whole = mx.logsumexp(logits, axis=-1, keepdims=True)
    own = mx.take_along_axis(logits, copied, axis=-1)
    more = mx.logaddexp(own, whole + mx.log(right).astype(whole.dtype))
    return mx.put_along_axis(logits, copied, more, axis=-1)
