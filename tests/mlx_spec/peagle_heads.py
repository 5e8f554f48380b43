"""P-EAGLE heads for the target of `heads.py`, and their drafts in numpy from the equations of speculators."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models.llama import ModelArgs

from mlx_spec.drafters.eagle_head import EagleShape
from mlx_spec.drafters.peagle_head import PEagleHead
from tests.mlx_spec.equations import Eagle, Sizes, arrays, mlp, normed, self_attention
from tests.mlx_spec.heads import TAPS, states_of, target
from tests.mlx_spec.tiny_models import VOCAB, fitted, settled

MASK, SIZES, DEPTH = VOCAB - 1, Sizes(heads=4, kv_heads=2), 3
ARGS = ModelArgs("llama", 32, 2, 64, 4, 1e-5, VOCAB, head_dim=8, num_key_value_heads=2)
SHAPE = EagleShape(ARGS, 32, TAPS, tuple(range(VOCAB)))


def head_for(shape: EagleShape = SHAPE, embeds: bool = True, seed: int = 5) -> PEagleHead:
    head: Any = settled(PEagleHead(shape, target(), MASK, DEPTH, embeds=embeds), seed, spread=1.0)
    head.mask_hidden = mx.random.normal(head.mask_hidden.shape, key=mx.random.key(seed))
    return head


def trained(texts: list[list[int]], rounds: int) -> PEagleHead:
    """A head trained to guess what follows each position of these texts, `DEPTH` tokens at once."""
    head = head_for()
    rows, hidden, known, labels, places = [], [], [], [], []
    for text in texts:
        features = states_of(text)
        for end in range(9, len(text) - DEPTH):
            rows.append(text[1:end] + [MASK] * (len(text) - end))
            hidden.append([x[0, :-1] for x in features])
            known.append([[row < end - 1] for row in range(len(text) - 1)])
            labels.append(text[end : end + DEPTH])
            places.append(list(range(end - 2, end - 2 + DEPTH)))
    ids, here = mx.array(rows), mx.array(known)
    states = [mx.stack([each[i] for each in hidden]) for i in range(len(TAPS))]

    def loss() -> mx.array:
        read = mx.where(here, head.features(states), head.masked)
        found = mx.take_along_axis(head(ids, hidden=read), mx.array(places)[:, :, None], axis=1)
        return nn.losses.cross_entropy(head.guesses(found), mx.array(labels), reduction="mean")

    fitted(head, loss, rounds, 5e-3)
    return head


def by_hand(
    head: PEagleHead, taps: list[np.ndarray], text: list[int], depth: int
) -> tuple[np.ndarray, list[int]]:
    """Logits over its own vocabulary, `[depth, draft_vocab]`, and their best tokens as the target's.

    One whole pass over the text and masks.
    """
    w = arrays(dict(tree_flatten(head.parameters())))  # type: ignore[arg-type]
    embedding = w["embed_tokens.weight"] if "embed_tokens.weight" in w else np.array(head._embed.weight)
    read = [np.concatenate(taps, axis=-1), *[w["mask_hidden"][None]] * (depth - 1)]
    ids = text[1:] + [MASK] * (depth - 1)
    x = Eagle(w, embedding, SIZES, norm_before_residual=head.shape.norm_before_residual).rows(
        np.concatenate(read) @ w["fc.weight"].T, ids
    )
    for i in range(len(head.deeper)):
        at = f"deeper.{i}"
        x = x + self_attention(
            w, f"{at}.self_attn", normed(x, w[f"{at}.input_layernorm.weight"], 1e-5), SIZES
        )
        x = x + mlp(w, f"{at}.mlp", normed(x, w[f"{at}.post_attention_layernorm.weight"], 1e-5))
    logits = normed(x[-depth:], w["norm.weight"], 1e-5) @ w["lm_head.weight"].T
    return logits, [head.shape.tokens[best] for best in logits.argmax(axis=-1)]
