"""The loss of an EAGLE head over texts, several steps deep: it is trained as it drafts, on its own rows.

Training-time test (EAGLE-3, Li et al. 2025, arXiv 2503.01840, section 3.2). In step 1 every row reads the
target's hidden states, in step s the head's own row of step s - 1; it attends to the first step's rows up to
where its draft begins, and to its own draft.
"""

from typing import Any

import mlx.core as mx
from jaxtyping import Bool, Float, Int

from mlx_spec.drafters.eagle_head import EagleHead

LATER = 0.8
"""Weight of each step relative to the step before: a token counts only if those before it are right."""

Guesses = list[Float[mx.array, "b rows draft_vocab"]]
"""By step; row t of step s guesses the token after position t + 1 + s."""


def unrolled(
    head: EagleHead, ids: Int[mx.array, "b rows"], states: Float[mx.array, "b rows taps_dim"], steps: int
) -> Guesses:
    """The head's guesses in each step, where every step reads the text itself.

    Args:
        states: hidden states of the tapped layers, lowest first, side by side.
    """
    embedded, found = head.embedded(ids), []
    hidden = head.features(list(mx.split(states, len(head.shape.taps), axis=-1)))
    keys: list[mx.array] = []
    values: list[mx.array] = []
    for s in range(steps):
        # Row t reads the token at t + 1 + s; the last rows have none, and nothing after them to guess.
        shifted = mx.pad(embedded[:, 1 + s :], [(0, 0), (0, 1 + s), (0, 0)])
        joined = head.midlayer.joined(shifted, hidden)
        attended = _attend(head.midlayer.self_attn, joined, keys, values, s)
        hidden = head.midlayer.after(hidden, attended)
        found.append(head.guesses(hidden))
    return found


def loss(
    guesses: Guesses,
    labels: Int[mx.array, "b rows likeliest"],
    probs: Float[mx.array, "b rows likeliest"],
    counted: Bool[mx.array, "b rows"],
) -> Float[mx.array, ""]:
    """Cross entropy against the target's own distribution: a mean over rows and weighted steps.

    Args:
        labels: the likeliest next tokens at each position, as ids of the draft's vocabulary.
        probs: how likely the target finds each; 0 for those the draft does not know.
        counted: positions whose next token is to be learnt.
    """
    total = mx.array(0.0)
    for s, logits in enumerate(guesses):
        known, wanted, used = labels[:, 1 + s :], probs[:, 1 + s :], counted[:, 1 + s :]
        logits = logits[:, : known.shape[1]]
        right = (mx.take_along_axis(logits, known, axis=-1) * wanted).sum(axis=-1)
        each = (mx.logsumexp(logits, axis=-1) - right) * used
        total = total + LATER**s * each.sum() / mx.maximum(used.sum(), 1)
    return total / sum(LATER**s for s in range(len(guesses)))


def accepted(
    guesses: Guesses, own: Int[mx.array, "b rows"], counted: Bool[mx.array, "b rows"]
) -> tuple[list[int], int]:
    """(how often the first 1, 2, ... guesses are all the target's choice, of how many drafts).

    Args:
        own: the target's choice at each position, as ids of the draft's vocabulary; -1: outside it.
        counted: positions where the text follows the target's choices.
    """
    steps = len(guesses)
    count = own.shape[1] - steps
    windows = [slice(1 + s, 1 + s + count) for s in range(steps)]
    used, right, sums = mx.array(True), mx.array(True), []
    for window in windows:
        used = used & counted[:, window]
    for window, logits in zip(windows, guesses, strict=True):
        right = right & (mx.argmax(logits[:, :count], axis=-1) == own[:, window])
        sums.append((right & used).sum())
    counts: list[int] = mx.stack([*sums, used.sum()]).tolist()  # type: ignore[assignment]
    return counts[:-1], counts[-1]


def _attend(attention: Any, x: mx.array, keys: list[mx.array], values: list[mx.array], step: int) -> mx.array:
    """One step of attention over `[b, rows, width]`; its keys and values join those of the steps before.

    Row t of step s lies at position t + s: it sees the first step's rows up to t, and of each later step
    row t, its own draft.
    """
    b, rows, _ = x.shape
    heads, groups = attention.n_heads, attention.n_kv_heads

    def split(y: mx.array, count: int) -> mx.array:
        return y.reshape(b, rows, count, -1).transpose(0, 2, 1, 3)

    queries = attention.rope(split(attention.q_proj(x), heads), offset=step) * attention.scale
    queries = queries.reshape(b, groups, heads // groups, rows, -1)
    keys.append(attention.rope(split(attention.k_proj(x), groups), offset=step)[:, :, None])
    values.append(split(attention.v_proj(x), groups)[:, :, None])
    seen = mx.where(mx.tri(rows, dtype=mx.bool_), queries @ keys[0].swapaxes(-1, -2), -mx.inf)
    own = [(queries * each).sum(axis=-1, keepdims=True) for each in keys[1:]]
    weights = mx.softmax(mx.concatenate([seen, *own], axis=-1), axis=-1)
    found = weights[..., :rows] @ values[0]
    for s, each in enumerate(values[1:]):
        found = found + weights[..., rows + s : rows + s + 1] * each
    found = found.reshape(b, heads, rows, -1).transpose(0, 2, 1, 3)
    return attention.o_proj(found.reshape(b, rows, -1))
