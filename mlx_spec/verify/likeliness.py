"""How likely the target found each token: log probabilities before penalties, temperature and filters."""

from collections.abc import Sequence

import mlx.core as mx
from jaxtyping import Float

from mlx_spec.arrays import Draft, Verdict
from mlx_spec.types import Likeliness

LEAST = -9999.0
"""In place of minus infinity, which JSON lacks."""


def likeliness(
    logits: Float[mx.array, "b rows vocab"], draft: Draft, verdict: Verdict, most: int
) -> Float[mx.array, "b gained numbers"]:
    """For each token gained: its log probability, those of the `most` likeliest tokens there, their ids."""
    checked = logits[:, -1 - draft.tokens.shape[1] :].astype(mx.float32)
    rows = mx.stack([checked[i][verdict.path[i]] for i in range(len(checked))])
    logs = rows - mx.logsumexp(rows, axis=-1, keepdims=True)
    logs = mx.where(logs > LEAST, logs, LEAST)
    own = mx.clip(verdict.tokens, 0, logs.shape[-1] - 1)[:, :, None]
    top = mx.argsort(-logs, axis=-1)[:, :, :most]
    found = [mx.take_along_axis(logs, ids, axis=-1) for ids in (own, top)]
    return mx.concatenate([*found, top.astype(mx.float32)], axis=-1)


def read_likeliness(numbers: Sequence[float], most: int) -> Likeliness:
    """One token's row of `likeliness`."""
    count = len(numbers) // 2
    top = zip(map(int, numbers[1 + count :]), numbers[1 : 1 + count], strict=True)
    return Likeliness(numbers[0], tuple(top)[:most])
