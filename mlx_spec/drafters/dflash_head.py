"""A head that drafts a block in one pass, laid out as DFlash checkpoints are (z-lab, `dflash/model.py`).

A few layers of Qwen3's kind over two kinds of rows. Text rows are `fc` of the target's hidden states, the
same in every layer: layers only compute keys and values from them, so a rejected draft leaves nothing in
them. Block rows, the text's last token and masks, attend to the text and to each other; the mask's row at a
position guesses the token there.

DSpark (DeepSeek, DeepSpec) adds logits by the token before: a low-rank table of next tokens, `markov_head`.
DFlash2 has convolutions along the block, and chooses among a few tokens at each position by the token before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int
from mlx_lm.models import qwen3
from mlx_lm.models.base import scaled_dot_product_attention
from mlx_lm.models.cache import KVCache, RotatingKVCache
from mlx_lm.models.rope_utils import initialize_rope

from mlx_spec.drafters.draft_head import EMBEDDINGS, few_rows, output_layer_of, spread
from mlx_spec.drafters.head import Head
from mlx_spec.errors import UnsupportedModel


@dataclass(frozen=True, slots=True)
class DFlashShape:
    """Sizes of a head, and what it was trained to read."""

    args: qwen3.ModelArgs
    """Of the layers; `vocab_size` is the target's."""
    taps: tuple[int, ...]
    """Layers of the target whose outputs `fc` reads, in this order."""
    tokens: tuple[int, ...]
    """The target's id of each token that it guesses among, ascending."""
    mask: int
    """Id of the mask token."""
    block: int
    """Rows of a block, the text's last token included, at most."""
    windows: tuple[int | None, ...]
    """By layer: how many positions it sees; None: all."""
    causal: tuple[bool, ...]
    """By layer: whether rows of a block see none after them."""
    from_anchor: bool = False
    """Whether the row of the text's last token guesses too: each row then guesses the token after it."""
    markov_rank: int = 0
    """Of DSpark's table; 0: it has none."""
    kernel: tuple[int, int] | None = None
    """Rows that DFlash2's convolutions reach, and numbers that share a kernel; None: it has none."""
    selector: tuple[int, int] | None = None
    """Rank of DFlash2's tables, and tokens that it chooses among at each place; None: it has none."""
    own_rows: bool = False
    """Whether it has output rows of its own; else the target's are used."""
    multiplier: float = 1.0
    """Of logits."""
    softcap: float | None = None
    embedding_scale: float = 1.0
    raw_embeddings: bool = False
    """Whether it reads the target's embeddings without the target's own factor."""
    interleaved: bool = False
    """Whether RoPE turns neighbouring numbers together, in place of the two halves."""

    @property
    def room(self) -> int:
        """Tokens that one pass may draft."""
        return self.block if self.from_anchor else self.block - 1


class DFlashAttention(qwen3.Attention):
    """Queries of the block, keys and values of text and block."""

    def __init__(self, args: qwen3.ModelArgs, interleaved: bool = False):
        super().__init__(args)
        if interleaved:
            base, scaling, longest = args.rope_theta, args.rope_scaling, args.max_position_embeddings
            self.rope = initialize_rope(args.head_dim, base, True, scaling, longest)

    def __call__(self, block: mx.array, text: mx.array, mask: Any, cache: Any) -> mx.array:  # type: ignore[override]
        (b, rows, _), at = block.shape, cache.offset + text.shape[1]
        keys, values = self.write(mx.concatenate([text, block], axis=1), cache)
        queries = self.q_norm(self.q_proj(block).reshape(b, rows, self.n_heads, -1))
        queries = self.rope(queries.transpose(0, 2, 1, 3), offset=at)
        found = scaled_dot_product_attention(queries, keys, values, cache=cache, scale=self.scale, mask=mask)
        return self.o_proj(found.transpose(0, 2, 1, 3).reshape(b, rows, -1))

    def write(self, both: mx.array, cache: Any) -> tuple[Any, Any]:
        """Write keys and values of text and block. Returns those that the block reads."""
        keys = self.k_norm(self.k_proj(both).reshape(*both.shape[:2], self.n_kv_heads, -1))
        keys = self.rope(keys.transpose(0, 2, 1, 3), offset=cache.offset)
        return cache.update_and_fetch(keys, self.project_values(both).transpose(0, 2, 1, 3))

    def project_values(self, both: mx.array) -> mx.array:
        """Values of text and block, `[b, rows, kv_heads, dim]`."""
        return self.v_proj(both).reshape(*both.shape[:2], self.n_kv_heads, -1)


class Convolution(nn.Module):
    """Causal convolutions along the block, before and after a part of a layer; kernels depend on the row."""

    def __init__(self, dim: int, reach: int, group: int):
        super().__init__()
        self.base_kernel = mx.zeros((2, reach, dim))
        self.kernel_projection = nn.Linear(dim, 2 * reach * (dim // group), bias=False)
        self._group = group

    def around(self, part: Callable[[mx.array], mx.array], x: mx.array) -> mx.array:
        """Convolve `x`, apply `part`, convolve again; both kernels are computed from `x`."""
        (b, rows, dim), (_, reach, _) = x.shape, self.base_kernel.shape
        own = self.kernel_projection(x).reshape(b, rows, 2, reach, dim // self._group)
        kernels = self.base_kernel + mx.repeat(own, self._group, axis=-1)
        return _convolved(part(_convolved(x, kernels[:, :, 0])), kernels[:, :, 1])


def _convolved(x: Float[mx.array, "b rows dim"], kernels: Float[mx.array, "b rows reach dim"]) -> mx.array:
    rows, reach = x.shape[1], kernels.shape[2]
    before = mx.pad(x, [(0, 0), (reach - 1, 0), (0, 0)])
    return sum(kernels[:, :, i] * before[:, reach - 1 - i : reach - 1 - i + rows] for i in range(reach))  # type: ignore[return-value]


class DFlashLayer(nn.Module):
    """A decoder layer of rows of the block."""

    def __init__(self, shape: DFlashShape):
        super().__init__()
        args = shape.args
        if shape.kernel:
            self.attention_conv = Convolution(args.hidden_size, *shape.kernel)
            self.mlp_conv = Convolution(args.hidden_size, *shape.kernel)
        self._convolves = shape.kernel is not None
        self.self_attn = DFlashAttention(args, shape.interleaved)
        self.mlp = qwen3.MLP(args.hidden_size, args.intermediate_size)
        self.input_layernorm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)

    def __call__(self, block: mx.array, text: mx.array, mask: Any, cache: Any) -> mx.array:
        def attended(x: mx.array) -> mx.array:
            return self.self_attn(x, text, mask, cache)

        x = self.input_layernorm(block)
        block = block + (self.attention_conv.around(attended, x) if self._convolves else attended(x))
        x = self.post_attention_layernorm(block)
        return block + (self.mlp_conv.around(self.mlp, x) if self._convolves else self.mlp(x))


class Markov(nn.Module):
    """Logits of the next token by the last: a matrix of `[vocab, rank]` by one of `[rank, draft_vocab]`."""

    def __init__(self, vocab: int, rank: int, tokens: int):
        super().__init__()
        self.markov_w1 = nn.Embedding(vocab, rank)
        self.markov_w2 = nn.Linear(rank, tokens, bias=False)

    def __call__(self, before: Int[mx.array, "*rows"]) -> Float[mx.array, "*rows draft_vocab"]:
        return self.markov_w2(self.markov_w1(before))


class Selector(nn.Module):
    """Chooses among the likeliest few tokens of a position by the token before."""

    def __init__(self, vocab: int, tokens: int, dim: int, rank: int, count: int):
        super().__init__()
        self.predecessor_codebook = nn.Embedding(vocab, rank)
        self.successor_codebook = nn.Embedding(tokens, rank)
        self.hidden_projection = nn.Linear(dim, rank, bias=False)
        self._count = count

    def __call__(
        self,
        logits: Float[mx.array, "b draft_vocab"],
        states: Float[mx.array, "b dim"],
        before: Int[mx.array, " b"],
    ) -> Float[mx.array, "b draft_vocab"]:
        few = mx.argpartition(-logits, self._count - 1, axis=-1)[:, : self._count].astype(mx.int32)
        wanted = self.predecessor_codebook(before) * self.hidden_projection(states)
        edges = (wanted[:, None] * self.successor_codebook(few)).sum(axis=-1)
        return spread(mx.take_along_axis(logits, few, axis=-1) + edges, few, logits.shape[-1])


class DFlashHead(Head):
    """The head, with the target's embeddings and, where it has none of its own, its output rows.

    Args:
        layer: makes one of its layers.

    Raises:
        UnsupportedModel: it is of another target, or its mask is not in the target's vocabulary.
    """

    def __init__(
        self, shape: DFlashShape, target: nn.Module, layer: Callable[[DFlashShape], nn.Module] = DFlashLayer
    ):
        args = shape.args
        super().__init__(target, shape.tokens, args.vocab_size, args.hidden_size)
        if not 0 <= shape.mask < args.vocab_size:
            raise UnsupportedModel(
                f"Its mask is token {shape.mask}, and the target has {args.vocab_size} tokens. "
                "Use a head made for this target."
            )
        self.shape, self.taps, self.width = shape, shape.taps, args.hidden_size
        self._scale = shape.embedding_scale * (1.0 if shape.raw_embeddings else own_scale(target))
        self.fc = nn.Linear(len(shape.taps) * args.hidden_size, args.hidden_size, bias=False)
        self.hidden_norm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.layers: list[Any] = [layer(shape) for _ in range(args.num_hidden_layers)]
        self.norm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        if shape.markov_rank:
            self.markov_head = Markov(args.vocab_size, shape.markov_rank, len(shape.tokens))
        if shape.selector:
            vocab, tokens = args.vocab_size, len(shape.tokens)
            self.candidate_selector = Selector(vocab, tokens, args.hidden_size, *shape.selector)
        if shape.own_rows:
            self.lm_head = nn.Linear(args.hidden_size, len(shape.tokens), bias=False)
        else:
            rows = output_layer_of(target)
            if len(shape.tokens) < args.vocab_size:
                rows = few_rows(rows, self._tokens)
            self._rows = rows.as_linear if isinstance(rows, EMBEDDINGS) else rows

    def make_cache(self) -> list[Any]:
        """As mlx-lm's models have it. A block that is not causal is seen whole, window or not."""
        kinds = zip(self.shape.windows, self.shape.causal, strict=True)
        return [RotatingKVCache(window) if window and causal else KVCache() for window, causal in kinds]

    def features(
        self, states: Sequence[Float[mx.array, "b rows target_dim"]]
    ) -> Float[mx.array, "b rows dim"]:
        """The row of each position of the text, from the hidden states of the tapped layers."""
        return self.hidden_norm(self.fc(mx.concatenate(list(states), axis=-1)))

    def __call__(self, ids: mx.array, cache: Any = None, hidden: mx.array | None = None) -> mx.array:
        """Rows `[b, block, dim]` for `logits`, of the last ids, which have no `hidden`: the block.

        Called as mlx-lm's models are.
        """
        if hidden is None:  # passes of `Probe`
            hidden = mx.zeros((*ids[:, :-1].shape, self.shape.args.hidden_size))
        before, rows = hidden.shape[1], ids.shape[1] - hidden.shape[1]
        if not rows:  # prefill; MLX's quantized products of no rows end the process
            for layer, each in zip(self.layers, cache, strict=True):
                layer.self_attn.write(hidden, each)
            return hidden[:, before:]
        x = self._embed(ids[:, before:]).astype(hidden.dtype) * self._scale
        for i, (layer, each) in enumerate(zip(self.layers, cache, strict=True)):
            x = layer(x, hidden, self._mask(i, each, before, rows), each)
        return self.norm(x)

    def guesses(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows draft_vocab"]:
        """Logits over the head's own vocabulary."""
        shape = self.shape
        logits = (self.lm_head if shape.own_rows else self._rows)(states) * shape.multiplier
        return logits if shape.softcap is None else mx.tanh(logits / shape.softcap) * shape.softcap

    @property
    def chains(self) -> bool:
        """Whether its guesses depend on the token before."""
        return bool(self.shape.markov_rank or self.shape.selector)

    def after(
        self,
        before: Int[mx.array, " b"],
        guesses: Float[mx.array, "b draft_vocab"],
        states: Float[mx.array, "b dim"],
    ) -> Float[mx.array, "b draft_vocab"]:
        """The guesses of a position, corrected by the token before it; `states` are its rows."""
        if self.shape.markov_rank:
            guesses = guesses + self.markov_head(before)
        return self.candidate_selector(guesses, states, before) if self.shape.selector else guesses

    def _mask(self, layer: int, cache: Any, before: int, rows: int) -> mx.array:
        """The mask of the block's rows: `[rows, keys]` (several texts: `[b, 1, rows, keys]`)."""
        window = self.shape.windows[layer]
        seen = cache.make_mask(before + rows, return_array=True, window_size=window)
        if self.shape.causal[layer]:
            return seen[..., before:, :]
        whole = cache.make_mask(before + rows, return_array=True)
        last = mx.broadcast_to(whole[..., -1:, :], (*whole.shape[:-2], rows, whole.shape[-1]))
        if window is None:
            return last
        return seen[..., before:, :] | (last & ~whole[..., before - 1 : before, :])


def own_scale(target: Any) -> float:
    """The factor on the target's embeddings, if its code keeps it as `embed_scale` (Gemma 4); else 1."""
    found = (vars(module).get("embed_scale") for module in target.modules())
    return next((float(scale) for scale in found if isinstance(scale, (int, float))), 1.0)
