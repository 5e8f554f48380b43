"""The three verification rules, each a pure function that returns (accepted, bonus) as arrays.

p is the target's law, q the law a drafted token was drawn from, both as probabilities; k is the
draft length. `accepted` counts drafted tokens that stand; `bonus` is the target's own token after
them. Everything is lazy: shapes never depend on how many were accepted.
"""

import mlx.core as mx
from jaxtyping import Float, Int

Verdict = tuple[Int[mx.array, ""], Int[mx.array, ""]]


def coupled(
    draft: Int[mx.array, " k"],
    target: Float[mx.array, "k+1 vocab"],
    gumbel: Float[mx.array, "k+1 vocab"] | None,
) -> Verdict:
    """Accept while the draft equals the target's own sample at that position.

    Gumbel-max with noise keyed per output position (Daliri, Musco and Suresh 2024, arXiv
    2408.07978): the text depends on the noise alone, never on the draft. `target` holds log
    probabilities (any logits do for `gumbel=None`, which is temperature 0).
    """
    own = mx.argmax(target if gumbel is None else target + gumbel, axis=-1).astype(mx.int32)
    accepted = _leading(own[:-1] == draft)
    return accepted, own[accepted]


def token(
    draft: Int[mx.array, " k"],
    q: Float[mx.array, "k vocab"],
    p: Float[mx.array, "k+1 vocab"],
    uniform: Float[mx.array, " k"],
    gumbel: Float[mx.array, " vocab"],
) -> Verdict:
    """Rejection sampling: accept with min(1, p/q), else draw from norm((p - q)+).

    Leviathan et al. 2023 (arXiv 2211.17192), algorithm 1.
    """
    p_draft, q_draft = _at(p[:-1], draft), _at(q, draft)
    accepted = _leading(uniform * q_draft < p_draft)
    return accepted, _residual_draw(p, q, accepted, mx.array(1.0), gumbel)


def block(
    draft: Int[mx.array, " k"],
    q: Float[mx.array, "k vocab"],
    p: Float[mx.array, "k+1 vocab"],
    uniform: Float[mx.array, " k"],
    gumbel: Float[mx.array, " vocab"],
) -> Verdict:
    """Block verification: the longest prefix accepted as a whole; never accepts less than `token`.

    Sun et al. 2024 (arXiv 2403.10444), algorithm 2.
    """
    k = draft.shape[0]
    if k == 0:
        return token(draft, q, p, uniform, gumbel)
    ratio = _at(p[:-1], draft) / _at(q, draft)
    joint = [mx.array(1.0)]
    for i in range(k):
        joint.append(mx.minimum(joint[-1] * ratio[i], 1.0))
    weights = mx.stack(joint)
    left = mx.maximum(weights[1:-1, None] * p[1:-1] - q[1:], 0).sum(axis=-1)
    room = left + 1 - weights[1:-1]
    inner = mx.where(room > 0, left / mx.where(room > 0, room, 1), 1)
    limits = mx.concatenate([inner, weights[-1:]])
    standing = mx.where(uniform < limits, mx.arange(1, k + 1), 0)
    accepted = mx.max(standing).astype(mx.int32)
    return accepted, _residual_draw(p, q, accepted, weights[accepted], gumbel)


def _leading(holds: mx.array) -> mx.array:
    """How many entries hold before the first that does not."""
    return mx.cumprod(holds.astype(mx.int32)).sum().astype(mx.int32)


def _at(rows: mx.array, ids: mx.array) -> mx.array:
    return mx.take_along_axis(rows, ids[:, None], axis=-1)[:, 0]


def _residual_draw(
    p: mx.array, q: mx.array, accepted: mx.array, weight: mx.array, gumbel: mx.array
) -> mx.array:
    """A draw from norm((weight p - q)+) at the row after the accepted ones; from p after the last."""
    padded = mx.concatenate([q, mx.zeros((1, p.shape[1]), p.dtype)])
    own = p[accepted]
    residual = mx.maximum(mx.where(accepted < q.shape[0], weight, 1) * own - padded[accepted], 0)
    law = mx.where(residual.sum() > 0, residual, own)
    return mx.argmax(mx.log(law) + gumbel).astype(mx.int32)
