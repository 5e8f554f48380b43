"""A Llama model in torch, with the names and conventions of mlx-lm's `llama`: weights transfer unchanged."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of one network."""

    layers: int
    hidden: int = 256
    intermediate: int = 768
    heads: int = 4
    kv_heads: int = 2
    vocab: int = 2048
    context: int = 2048
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


TARGET = Shape(layers=12)
DRAFT = Shape(layers=1, intermediate=1536)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        kv = shape.kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.k_proj = nn.Linear(shape.hidden, kv, bias=False)
        self.v_proj = nn.Linear(shape.hidden, kv, bias=False)
        self.o_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], cache: "Cache | None") -> Tensor:
        """x: (batch, seq, hidden)."""
        batch, seq, _ = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, seq, -1, self.shape.head_dim).transpose(1, 2)

        q, k, v = (
            rotate(split(self.q_proj(x)), rope),
            rotate(split(self.k_proj(x)), rope),
            split(self.v_proj(x)),
        )
        mask = None
        if cache is not None:
            k, v, mask = cache.append(k, v)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).reshape(batch, seq, -1))


class Mlp(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down_proj = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = nn.RMSNorm(shape.hidden, eps=shape.norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(shape.hidden, eps=shape.norm_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], cache: "Cache | None") -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rope, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Network(nn.Module):
    """Embedding, layers, norm; the output projection is tied to the embedding."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden, eps=shape.norm_eps)
        cos, sin = rope_table(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.apply(self._initialise)
        for layer in self.layers:
            for matrix in (layer.self_attn.o_proj, layer.mlp.down_proj):
                matrix.weight.data /= (2 * shape.layers) ** 0.5

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)

    def forward(
        self, ids: Tensor, caches: "list[Cache] | None" = None, positions: Tensor | None = None
    ) -> Tensor:
        """ids: (batch, seq) -> logits (batch, seq, vocab); positions: (batch, seq), default 0, 1, 2, ..."""
        if positions is None:
            rope = (self.cos[: ids.shape[1]], self.sin[: ids.shape[1]])
        else:
            rope = (self.cos[positions][:, None], self.sin[positions][:, None])
        x = self.embed_tokens(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x, rope, caches[i] if caches else None)
        return F.linear(self.norm(x), self.embed_tokens.weight)


class Cache:
    """Keys and values of one layer, for a batch with left-padded prompts."""

    def __init__(self, hidden_from_rows: Tensor) -> None:
        self.hidden_from_rows = hidden_from_rows
        """(batch,): number of leading padding positions by row."""
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def keep(self, rows: list[int]) -> None:
        """Drop all other rows of the batch."""
        self.hidden_from_rows = self.hidden_from_rows[rows]
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All keys and values so far, and a boolean mask (batch, 1, seq, total), True where visible."""
        self.keys = k if self.keys is None else torch.cat([self.keys, k], dim=2)
        self.values = v if self.values is None else torch.cat([self.values, v], dim=2)
        total, seq = self.keys.shape[2], k.shape[2]
        column = torch.arange(total)
        row = torch.arange(total - seq, total)
        causal = column[None, :] <= row[:, None]
        filled = column[None, :] >= self.hidden_from_rows[:, None]
        own = column[None, :] == row[:, None]
        return self.keys, self.values, ((causal[None] & filled[:, None, :]) | own[None])[:, None]


def rope_table(shape: Shape) -> tuple[Tensor, Tensor]:
    """Cosines and sines, (context, head_dim) each; the second half of a row repeats the first."""
    frequencies = shape.rope_theta ** (-torch.arange(0, shape.head_dim, 2) / shape.head_dim)
    angles = torch.arange(shape.context)[:, None] * frequencies[None, :]
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    """Apply RoPE to x: (batch, heads, seq, head_dim)."""
    cos, sin = (table.to(x.dtype) for table in rope)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin
