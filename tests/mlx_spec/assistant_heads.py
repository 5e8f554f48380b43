"""Assistants of a tiny Gemma 4, and their drafts in numpy from the equations of transformers and vLLM."""

from functools import cache
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models import gemma4_text
from mlx_lm.models.cache import KVCache

from mlx_spec.drafters.assistant_head import AssistantHead, AssistantShape, Seen
from tests.mlx_spec.equations import Weights, arrays, attended, by_head, gemma_layer, normed, turned
from tests.mlx_spec.tiny_models import VOCAB, fitted, settled

SLIDING, FULL, WINDOW, EPS = "sliding_attention", "full_attention", 16, 1e-6
TARGET = gemma4_text.ModelArgs(
    hidden_size=32, num_hidden_layers=5, num_kv_shared_layers=2, intermediate_size=64, num_attention_heads=4,
    num_key_value_heads=2, head_dim=8, global_head_dim=16, vocab_size=VOCAB, vocab_size_per_layer_input=VOCAB,
    hidden_size_per_layer_input=8, sliding_window=24, layer_types=[SLIDING, FULL, SLIDING, SLIDING, FULL],
)  # fmt: skip
READS = {SLIDING: 2, FULL: 1}
"""The last layer of each kind with keys and values of its own."""
ARGS = gemma4_text.ModelArgs(
    hidden_size=32, num_hidden_layers=2, num_kv_shared_layers=2, intermediate_size=32, num_attention_heads=4,
    head_dim=8, global_head_dim=16, vocab_size=VOCAB, hidden_size_per_layer_input=0, sliding_window=WINDOW,
    layer_types=[SLIDING, FULL],
)  # fmt: skip
SHAPE = AssistantShape(ARGS, 32, READS, softcap=30.0)
CLUSTERED = AssistantShape(ARGS, 32, READS, likely=5)
CLUSTERS = np.random.default_rng(1).permutation(VOCAB).reshape(12, -1)


def target() -> Any:
    model: Any = settled(gemma4_text.Model(TARGET), 3)
    # Its embeddings are scaled up: left as they are, each token would only repeat itself.
    model.model.embed_tokens.weight = model.model.embed_tokens.weight * 0.1
    return model


def head_for(model: nn.Module, shape: AssistantShape = CLUSTERED, seed: int = 5) -> AssistantHead:
    clusters = mx.array(CLUSTERS.astype(np.int32)) if shape.likely else None
    head: Any = settled(AssistantHead(shape, model, clusters), seed, spread=1.0)
    for i, layer in enumerate(head.layers):
        layer.layer_scalar = mx.array([0.7 + 0.2 * i])
    return head


@cache
def _known() -> Any:
    return target()


def read(text: list[int]) -> tuple[mx.array, dict[str, tuple[mx.array, mx.array]]]:
    """The target's last hidden state of each token, and keys and values by kind of layer, from mlx-lm's own
    caches, which keep every row."""
    model = _known()
    caches: list[Any] = [KVCache() for _ in range(3)]
    hidden = model.model(mx.array([text]), cache=caches)
    return hidden, {
        kind: tuple(x[:, :, : len(text)] for x in (caches[i].keys, caches[i].values))
        for kind, i in READS.items()
    }


def trained(
    texts: list[list[int]], rounds: int, shape: AssistantShape = CLUSTERED, steps: int = 2
) -> AssistantHead:
    """An assistant trained on these texts, `steps` steps deep, each reading the true token before."""
    head = head_for(target(), shape)
    studies = [_study(text, steps) for text in texts]

    def loss() -> mx.array:
        found = mx.array(0.0)
        for ids, hidden, seen in studies:
            for step in range(steps):
                states = head(ids[:, step : step + 1], hidden, seen)
                hidden = head.next_hidden(states)
                wanted = head.lm_head(states)[:, 0]  # all tokens, so that the likely clusters are learnt too
                found += nn.losses.cross_entropy(wanted, ids[:, step + 1], reduction="mean")
                if shape.likely:
                    own = mx.array(np.argsort(CLUSTERS.flatten()) // CLUSTERS.shape[1])[ids[:, step + 1]]
                    found += nn.losses.cross_entropy(head.centroids(states)[:, 0], own, reduction="mean")
        return found

    fitted(head, loss, rounds, 8e-3)
    return head


def _study(text: list[int], steps: int) -> tuple[mx.array, mx.array, dict[str, Seen]]:
    """A text as a batch, a row per position: the tokens from the next on, and what a draft there reads."""
    hidden, kept = read(text)
    ends = np.arange(2, len(text) - steps - 1)
    ids = mx.array([text[end + 1 : end + steps + 2] for end in ends])
    seen = {}
    for kind, (keys, values) in kept.items():
        rows = np.arange(len(text))
        sees = (rows <= ends[:, None]) & (rows > ends[:, None] - (WINDOW if kind == SLIDING else len(text)))
        keys, values = (mx.broadcast_to(x, (len(ends), *x.shape[1:])) for x in (keys, values))
        seen[kind] = Seen(keys, values, mx.array(sees[:, None, None].tolist()), mx.array(ends))
    return ids, hidden[0][mx.array(ends)][:, None], seen


def by_hand(head: AssistantHead, text: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
    """Logits, `[depth, vocab]`, and their best tokens, after a text of which all but the last was read."""
    w = arrays(dict(tree_flatten(head.parameters())))  # type: ignore[arg-type]
    states, kept = read(text[:-1])
    place, hidden, token = len(text) - 2, np.array(states[0, -1]), text[-1]
    embedding = np.array(_known().model.embed_tokens.weight) * np.sqrt(32)
    logits, drafted = [], []
    for _ in range(depth):
        x = np.concatenate([embedding[token], hidden]) @ w["pre_projection.weight"].T
        for i, kind in enumerate(head.shape.args.layer_types or []):
            x = _layer(w, f"layers.{i}", x, kind, [np.array(each[0]) for each in kept[kind]], place)
        x = normed(x, w["norm.weight"], EPS)
        logits.append(_logits(head, w, x))
        token = int(logits[-1].argmax())
        drafted.append(token)
        hidden = x @ w["post_projection.weight"].T
    return np.stack(logits), drafted


def _logits(head: AssistantHead, w: Weights, x: np.ndarray) -> np.ndarray:
    logits = w["lm_head.weight"] @ x
    if not head.shape.likely:
        cap = head.shape.softcap
        return logits if cap is None else np.tanh(logits / cap) * cap
    likely = np.argsort(-(w["centroids.weight"] @ x))[: head.shape.likely]
    found = np.full_like(logits, -np.inf)
    few = CLUSTERS[likely].flatten()
    found[few] = logits[few]
    return found


def _layer(w: Weights, at: str, x: np.ndarray, kind: str, kept: list[np.ndarray], place: int) -> np.ndarray:
    keys, values = (each[:, -WINDOW:] if kind == SLIDING else each for each in kept)
    theta, turns = (
        (10_000.0, None) if kind == SLIDING else (1_000_000.0, 2)
    )  # a quarter of a full layer's pairs

    def attend(y: np.ndarray) -> np.ndarray:
        q = by_head((y @ w[f"{at}.self_attn.q_proj.weight"].T)[None], 4)
        q = turned(normed(q, w[f"{at}.self_attn.q_norm.weight"], EPS), np.array([place]), theta, turns)
        return (attended(q, keys, values, True, scale=1.0) @ w[f"{at}.self_attn.o_proj.weight"].T)[0]

    return gemma_layer(w, at, x, attend, EPS)
