"""From a model's logits to the distribution a token is drawn from. Pure, over any number of rows at once.

Order: repetition penalty, temperature, top-k, top-p, min-p. Target and drafter go through the same.
"""

import mlx.core as mx
from jaxtyping import Float
from mlx_lm.sample_utils import apply_min_p, apply_top_p

from mlx_spec.types import Options


def logprobs(logits: Float[mx.array, "rows vocab"], options: Options) -> Float[mx.array, "rows vocab"]:
    """Log probabilities at the options' temperature (above 0) after their filters; -inf where dropped."""
    scores = unnormalised(logits, options)
    return scores - mx.logsumexp(scores, axis=-1, keepdims=True)


def unnormalised(logits: Float[mx.array, "rows vocab"], options: Options) -> Float[mx.array, "rows vocab"]:
    """Log probabilities up to a constant per row: all that choosing by shared noise needs."""
    scores = logits.astype(mx.float32) / options.temperature
    if not 0 < options.top_k < logits.shape[-1]:
        return _nucleus(scores, options)
    # A partition, after which the other filters sort and sum only what it left.
    top = mx.argpartition(-scores, options.top_k - 1, axis=-1)[:, : options.top_k]
    kept = _nucleus(mx.take_along_axis(scores, top, axis=-1), options)
    return mx.put_along_axis(mx.full(scores.shape, -mx.inf), top, kept, axis=-1)


def _nucleus(scores: mx.array, options: Options) -> mx.array:
    if options.top_p < 1:
        scores = apply_top_p(scores - mx.logsumexp(scores, axis=-1, keepdims=True), options.top_p)
    if options.min_p > 0:
        scores = apply_min_p(scores, options.min_p)
    return scores
