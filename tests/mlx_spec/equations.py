"""Published models in numpy, from their equations alone, to compare with the program's own.

Rows are computed one text at a time and without caches. Weights are named as in the published files.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

Weights = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a layer."""

    heads: int
    kv_heads: int
    eps: float = 1e-5
    theta: float = 10000.0


def arrays(weights: Mapping[str, mx.array]) -> Weights:
    return {
        name: np.array(x.astype(mx.float32) if x.dtype == mx.bfloat16 else x) for name, x in weights.items()
    }


def normed(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def turned(x: np.ndarray, positions: np.ndarray, theta: float, turns: int | None = None) -> np.ndarray:
    """Rotary positions of `[heads, rows, dim]`; the two numbers of a pair are half the dim apart.

    Args:
        turns: the pairs that are rotated, if not all.
    """
    half = x.shape[-1] // 2
    speeds = np.where(np.arange(half) < (turns or half), theta ** (-np.arange(half) / half), 0)
    angles = positions[:, None] * speeds
    a, b = x[..., :half], x[..., half:]
    return np.concatenate(
        [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=-1
    )


def by_head(x: np.ndarray, heads: int) -> np.ndarray:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def attended(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray | bool, scale: float | None = None
) -> np.ndarray:
    """`[rows, heads * dim]`; queries `[heads, rows, dim]`, fewer heads of keys, `seen[row, key]`."""
    shared = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, shared, axis=0), np.repeat(v, shared, axis=0)
    scores = np.where(seen, q @ k.transpose(0, 2, 1) * (scale or q.shape[-1] ** -0.5), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)


def self_attention(w: Weights, at: str, x: np.ndarray, sizes: Sizes) -> np.ndarray:
    """Causal attention, with biases and with norms of queries and keys if the file has them."""
    q, k, v = (x @ w[f"{at}.{name}_proj.weight"].T + w.get(f"{at}.{name}_proj.bias", 0) for name in "qkv")
    q, k, v = by_head(q, sizes.heads), by_head(k, sizes.kv_heads), by_head(v, sizes.kv_heads)
    if f"{at}.q_norm.weight" in w:
        q, k = normed(q, w[f"{at}.q_norm.weight"], sizes.eps), normed(k, w[f"{at}.k_norm.weight"], sizes.eps)
    places = np.arange(len(x))
    q, k = turned(q, places, sizes.theta), turned(k, places, sizes.theta)
    return attended(q, k, v, places[:, None] >= places) @ w[f"{at}.o_proj.weight"].T


def mlp(w: Weights, at: str, x: np.ndarray) -> np.ndarray:
    gate = x @ w[f"{at}.gate_proj.weight"].T
    return (gate / (1 + np.exp(-gate)) * (x @ w[f"{at}.up_proj.weight"].T)) @ w[f"{at}.down_proj.weight"].T


def gemma_layer(
    w: Weights, at: str, x: np.ndarray, attend: Callable[[np.ndarray], np.ndarray], eps: float
) -> np.ndarray:
    """A layer of Gemma 4 around its attention."""
    y = attend(normed(x, w[f"{at}.input_layernorm.weight"], eps))
    x = x + normed(y, w[f"{at}.post_attention_layernorm.weight"], eps)
    y = normed(x, w[f"{at}.pre_feedforward_layernorm.weight"], eps)
    gate = y @ w[f"{at}.mlp.gate_proj.weight"].T
    gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    y = (gate * (y @ w[f"{at}.mlp.up_proj.weight"].T)) @ w[f"{at}.mlp.down_proj.weight"].T
    return (x + normed(y, w[f"{at}.post_feedforward_layernorm.weight"], eps)) * w[f"{at}.layer_scalar"]


def states(w: Weights, ids: list[int], layers: int, sizes: Sizes) -> list[np.ndarray]:
    """Inputs of layer 0, 1, ..., and the output of the last: `[rows, dim]` each."""
    x = w["model.embed_tokens.weight"][ids]
    found = [x]
    for i in range(layers):
        at = f"model.layers.{i}"
        y = normed(x, w[f"{at}.input_layernorm.weight"], sizes.eps)
        x = x + self_attention(w, f"{at}.self_attn", y, sizes)
        x = x + mlp(w, f"{at}.mlp", normed(x, w[f"{at}.post_attention_layernorm.weight"], sizes.eps))
        found.append(x)
    return found


def llama(w: Weights, ids: list[int], layers: int, sizes: Sizes) -> np.ndarray:
    """Logits `[rows, vocab]` of a whole model."""
    out = w["lm_head.weight"] if "lm_head.weight" in w else w["model.embed_tokens.weight"]
    return normed(states(w, ids, layers, sizes)[-1], w["model.norm.weight"], sizes.eps) @ out.T


@dataclass(frozen=True, slots=True)
class Eagle:
    """An EAGLE-3 head (arXiv 2503.01840; the flags as in speculators' `models/eagle3`)."""

    w: Weights
    embedding: np.ndarray
    sizes: Sizes
    norm_before_residual: bool = False
    norm_output: bool = False

    def draft(self, taps: list[np.ndarray], text: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
        """Its logits over its own vocabulary, `[depth, draft_vocab]`, and their best tokens as the target's.

        Args:
            taps: the target's states of all but the text's last token.
        """
        w, eps = self.w, self.sizes.eps
        if "fc_norm.0.weight" in w:
            taps = [normed(x, w[f"fc_norm.{i}.weight"], eps) for i, x in enumerate(taps)]
        together = np.concatenate(taps, axis=-1)
        if "input_norm.weight" in w:
            together = normed(together, w["input_norm.weight"], eps)
        known = w["d2t"] + np.arange(len(w["d2t"])) if "d2t" in w else np.arange(len(self.embedding))
        hidden, ids = together @ w["fc.weight"].T, text[1:]
        logits, drafted = [], []
        for _ in range(depth):
            last = self.rows(hidden, ids)[-1:]
            out = normed(last, w["norm.weight"], eps)
            logits.append((out @ w["lm_head.weight"].T)[0])
            drafted.append(int(known[logits[-1].argmax()]))
            hidden = np.concatenate([hidden, out if self.norm_output else last])
            ids = [*ids, drafted[-1]]
        return np.stack(logits), drafted

    def rows(self, hidden: np.ndarray, ids: list[int]) -> np.ndarray:
        w, eps = self.w, self.sizes.eps
        at = "midlayer" if "midlayer.hidden_norm.weight" in w else "layers.0"
        embedded = normed(self.embedding[ids], w[f"{at}.input_layernorm.weight"], eps)
        quiet = normed(hidden, w[f"{at}.hidden_norm.weight"], eps)
        read = np.concatenate([embedded, quiet], axis=-1)
        x = quiet if self.norm_before_residual else hidden
        x = x + self_attention(w, f"{at}.self_attn", read, self.sizes)
        return x + mlp(w, f"{at}.mlp", normed(x, w[f"{at}.post_attention_layernorm.weight"], eps))


@dataclass(frozen=True, slots=True)
class DFlash:
    """A DFlash or DSpark head (z-lab's `dflash/model.py`, DeepSpec's `modeling/dspark`)."""

    w: Weights
    embedding: np.ndarray
    rows: np.ndarray
    """Output rows, the target's or its own."""
    sizes: Sizes
    mask: int
    from_anchor: bool = False
    window: int | None = None
    """Of all layers but the last; None: no windows."""
    causal: bool | None = None
    """None: layers with a window are."""
    top: int = 0
    """Tokens that DFlash2 chooses among."""

    def draft(self, taps: list[np.ndarray], text: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
        """Logits over its own vocabulary, `[depth, draft_vocab]`, and the best tokens as the target's."""
        block = [text[-1], *[self.mask] * (depth - self.from_anchor)]
        hidden = self.hidden(taps, block)[-depth:]
        logits = hidden @ self.rows.T
        known = (
            self.w["d2t"] + np.arange(len(self.w["d2t"])) if "d2t" in self.w else np.arange(len(self.rows))
        )
        drafted, before = [], text[-1]
        for i in range(depth):
            if "markov_head.markov_w1.weight" in self.w:
                table = self.w["markov_head.markov_w2.weight"]
                logits[i] += table @ self.w["markov_head.markov_w1.weight"][before]
            if self.top:
                a, b = (
                    self.w[f"candidate_selector.{which}_codebook"] for which in ("predecessor", "successor")
                )
                few = np.argsort(-logits[i])[: self.top]
                scores = np.full_like(logits[i], -np.inf)
                wanted = a[before] * (self.w["candidate_selector.hidden_projection.weight"] @ hidden[i])
                scores[few] = logits[i][few] + b[few] @ wanted
                logits[i] = scores
            before = int(known[logits[i].argmax()])
            drafted.append(before)
        return logits, drafted

    def hidden(self, taps: list[np.ndarray], block: list[int]) -> np.ndarray:
        w, sizes = self.w, self.sizes
        text = normed(np.concatenate(taps, axis=-1) @ w["fc.weight"].T, w["hidden_norm.weight"], sizes.eps)
        x = self.embedding[block]
        places = np.arange(len(text) + len(block))
        own = places[len(text) :, None]
        layers = 1 + max(int(name.split(".")[1]) for name in w if name.startswith("layers."))
        for i in range(layers):
            slides = self.window is not None and i < layers - 1
            near = own - places < self.window if slides and self.window else True
            before = (places < len(text)) & near
            inside = (places >= len(text)) & ((places <= own) if self._causal(slides) else True)
            at = f"layers.{i}"
            y = normed(x, w[f"{at}.input_layernorm.weight"], sizes.eps)
            put, out = self._convolutions(f"{at}.attention_conv", y)
            x = x + out(self._attention(f"{at}.self_attn", text, put(y), before | inside))
            y = normed(x, w[f"{at}.post_attention_layernorm.weight"], sizes.eps)
            put, out = self._convolutions(f"{at}.mlp_conv", y)
            x = x + out(mlp(w, f"{at}.mlp", put(y)))
        return normed(x, w["norm.weight"], sizes.eps)

    def _convolutions(self, at: str, y: np.ndarray) -> list[Callable[[np.ndarray], np.ndarray]]:
        """DFlash2's, before and after a part of a layer, if it has any."""
        if f"{at}.base_kernel" not in self.w:
            return [lambda x: x] * 2
        base = self.w[f"{at}.base_kernel"]
        own = (y @ self.w[f"{at}.kernel_projection.weight"].T).reshape(len(y), *base.shape[:2], -1)

        def convolve(x: np.ndarray, side: int) -> np.ndarray:
            found = np.zeros_like(x)
            for row in range(len(x)):
                for back in range(min(base.shape[1], row + 1)):
                    kernel = base[side, back] + np.repeat(own[row, side, back], x.shape[1] // own.shape[-1])
                    found[row] += kernel * x[row - back]
            return found

        return [lambda x, side=side: convolve(x, side) for side in (0, 1)]

    def _causal(self, slides: bool) -> bool:
        return slides if self.causal is None else self.causal

    def _attention(self, at: str, text: np.ndarray, block: np.ndarray, seen: np.ndarray) -> np.ndarray:
        w, sizes, both = self.w, self.sizes, np.concatenate([text, block])
        q = by_head(block @ w[f"{at}.q_proj.weight"].T, sizes.heads)
        k, v = (by_head(both @ w[f"{at}.{name}_proj.weight"].T, sizes.kv_heads) for name in "kv")
        q, k = normed(q, w[f"{at}.q_norm.weight"], sizes.eps), normed(k, w[f"{at}.k_norm.weight"], sizes.eps)
        places = np.arange(len(both))
        q, k = turned(q, places[len(text) :], sizes.theta), turned(k, places, sizes.theta)
        return attended(q, k, v, seen) @ w[f"{at}.o_proj.weight"].T
