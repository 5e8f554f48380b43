"""The three verification rules, pure functions that return (accepted, tokens) as arrays; `walk` is for trees.

p is the target's distribution, q the one a drafted token was drawn from, both as probabilities; k is
the draft length. `accepted` counts the drafted tokens that the text keeps; `tokens` are these and the
bonus, the target's own token after them. Everything is lazy: shapes never depend on how many were accepted.

A draft may be anything, NaN and ids out of range included: it costs speed, and the text keeps the
target's distribution. A NaN row of the target gives some token, as in plain decoding.
"""

import mlx.core as mx
from jaxtyping import Float, Int

ChainVerdict = tuple[Int[mx.array, ""], Int[mx.array, " gained"]]
"""(accepted, the tokens gained; meaningless after `accepted`)."""

ROUNDING = 1e-3
"""By how much the sum of a row of q may differ from 1."""


def coupled(draft: Int[mx.array, " k"], scores: Float[mx.array, "k+1 vocab"]) -> ChainVerdict:
    """Accept while the draft equals the target's own sample at that position: the argmax of its scores.

    Gumbel-max with noise keyed per output position (Daliri, Musco and Suresh 2024, arXiv
    2408.07978): scores are log probabilities with that noise, so the text depends on the noise alone, never
    on the draft. At temperature 0 they are logits.
    """
    own = mx.argmax(scores, axis=-1).astype(mx.int32)
    return _leading(own[:-1] == draft), own


def token(
    draft: Int[mx.array, " k"],
    q: Float[mx.array, "k vocab"],
    p: Float[mx.array, "k+1 vocab"],
    uniform: Float[mx.array, " k"],
    gumbel: Float[mx.array, " vocab"],
) -> ChainVerdict:
    """Rejection sampling: accept with min(1, p/q), else draw from norm((p - q)+).

    Leviathan et al. 2023 (arXiv 2211.17192), algorithm 1.
    """
    q = proper(draft, q)
    accepted = _leading(uniform < token_limits(draft, q, p))
    return accepted, _gained(draft, accepted, bonus_weights(q, p, accepted, mx.array(1.0)), gumbel)


def token_limits(
    draft: Int[mx.array, " k"], q: Float[mx.array, "k vocab"], p: Float[mx.array, "k+1 vocab"]
) -> Float[mx.array, " k"]:
    """Probability that each drafted token is accepted, given that all before it are."""
    return mx.minimum(_ratios(draft, q, p), 1)


def block(
    draft: Int[mx.array, " k"],
    q: Float[mx.array, "k vocab"],
    p: Float[mx.array, "k+1 vocab"],
    uniform: Float[mx.array, " k"],
    gumbel: Float[mx.array, " vocab"],
) -> ChainVerdict:
    """Block verification: the longest prefix accepted as a whole; never accepts less than `token`.

    Sun et al. 2024 (arXiv 2403.10444), algorithm 2.
    """
    q = proper(draft, q)
    limits, joint = block_limits(draft, q, p)
    lengths = mx.where(uniform < limits, mx.arange(1, draft.shape[0] + 1), 0)
    accepted = mx.max(mx.pad(lengths, (1, 0))).astype(mx.int32)
    return accepted, _gained(draft, accepted, bonus_weights(q, p, accepted, joint[accepted]), gumbel)


def block_limits(
    draft: Int[mx.array, " k"], q: Float[mx.array, "k vocab"], p: Float[mx.array, "k+1 vocab"]
) -> tuple[Float[mx.array, " k"], Float[mx.array, "k+1"]]:
    """(h_1..h_k: the prefix of length i is a candidate with probability h_i, P_0..P_k)."""
    ratio = _ratios(draft, q, p)
    chain = [mx.array(1.0)]
    for i in range(draft.shape[0]):
        chain.append(mx.minimum(chain[-1] * ratio[i], 1.0))
    joint = mx.stack(chain)
    inner = joint[1:-1]
    left = mx.maximum(inner[:, None] * p[1:-1] - q[1:], 0).sum(axis=-1)
    room = left + 1 - inner
    # No room: p equals q after a prefix accepted for sure. NaN, after an impossible token, accepts nothing.
    limits = mx.where(room == 0, 1, left / room)
    return mx.concatenate([limits, joint[1:][-1:]]), joint


def walk(
    own: Int[mx.array, " rows"], drafted: Int[mx.array, " n"], parents: Int[mx.array, " rows"], depth: int
) -> tuple[Int[mx.array, ""], Int[mx.array, " {depth+1}"]]:
    """(accepted, path): from the root, at each row to the child that is the target's own token.

    Args:
        own: the target's own token after each row.
        depth: of the deepest row.
    """
    row, accepted, alive = mx.array(0), mx.array(0), mx.array(True)
    path = [row]
    for _ in range(depth):
        right = (parents[1:] == row) & (drafted == own[row])
        alive = alive & right.any()
        row = mx.where(alive, mx.argmax(right) + 1, row)
        accepted = accepted + alive
        path.append(row)
    return accepted.astype(mx.int32), mx.stack(path).astype(mx.int32)


def proper(draft: Int[mx.array, " k"], q: Float[mx.array, "k vocab"]) -> Float[mx.array, "k vocab"]:
    """q, where each row that the drafted token cannot have been drawn from is a point mass at the token.

    Such a row is NaN, infinite, negative, does not sum to 1 or is 0 at the token. A point mass is right
    however the token was chosen: the drafter's randomness can be drawn before the round, and given that, the
    token is fixed. Both rules are exact for each outcome.
    """
    usable = (mx.abs(q.sum(axis=-1) - 1) < ROUNDING) & (q.min(axis=-1) >= 0) & (_at(q, draft) > 0)
    return mx.where(usable[:, None], q, mx.arange(q.shape[-1]) == draft[:, None])


def bonus_weights(
    q: Float[mx.array, "k vocab"],
    p: Float[mx.array, "k+1 vocab"],
    accepted: Int[mx.array, ""],
    weight: Float[mx.array, ""],
) -> Float[mx.array, " vocab"]:
    """The bonus token's distribution, not normalised: (weight p - q)+ after a rejection, else p."""
    own = p[accepted]
    padded = mx.concatenate([q, mx.zeros((1, p.shape[1]), p.dtype)])
    residual = mx.maximum(mx.where(accepted < q.shape[0], weight, 1) * own - padded[accepted], 0)
    return mx.where(residual.sum() > 0, residual, own)


def _gained(draft: mx.array, accepted: mx.array, weights: mx.array, gumbel: mx.array) -> mx.array:
    """The draft up to `accepted`, then a bonus drawn by these weights."""
    bonus = mx.argmax(mx.log(weights) + gumbel).astype(mx.int32)
    return mx.where(mx.arange(draft.shape[0] + 1) < accepted, mx.pad(draft, (0, 1)), bonus)


def _leading(holds: mx.array) -> mx.array:
    """How many entries hold before the first that does not."""
    return mx.cumprod(holds.astype(mx.int32)).sum().astype(mx.int32)


def _ratios(draft: mx.array, q: mx.array, p: mx.array) -> mx.array:
    """p / q at each drafted token, [k]."""
    return _at(p[:-1], draft) / _at(q, draft)


def _at(rows: mx.array, ids: mx.array) -> mx.array:
    """Each row at its id, [k]; 0 where there is no such id."""
    last = rows.shape[-1] - 1
    found = mx.take_along_axis(rows, mx.clip(ids, 0, last)[:, None], axis=-1)[:, 0]
    return mx.where((ids >= 0) & (ids <= last), found, 0)
