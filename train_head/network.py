"""The target and its head in PyTorch, from the files that `prepare` wrote."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor

TAPS = (1, 14, 26)
"""Layers of the target whose outputs the head reads."""
GROUPS = 32, 64
"""Weights that share a scale, of the target and of the head."""
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def dequantized(file: Path, group: int, device: str) -> dict[str, Tensor]:
    """The tensors of a file of MLX weights of 4 or 8 bits, in float32."""
    found = {}
    with safe_open(file, "pt") as tensors:
        names = set(tensors.keys())
        for name in names:
            if name.endswith((".scales", ".biases")):
                continue
            weight, base = tensors.get_tensor(name), name.removesuffix("weight")
            if f"{base}scales" in names:
                scales, biases = (tensors.get_tensor(base + each).float() for each in ("scales", "biases"))
                octets = torch.from_numpy(weight.numpy().view(np.uint8).copy())
                if octets.shape[1] < scales.shape[1] * group:
                    octets = torch.stack([octets & 15, octets >> 4], -1).flatten(1)
                weight = octets.float().view(len(octets), -1, group) * scales[..., None] + biases[..., None]
                weight = weight.flatten(1)
            found[name.removeprefix("model.")] = weight.to(device)
    return found


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """RMS norm."""
    return F.rms_norm(x, (x.shape[-1],), weight.to(x.dtype), eps)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE of `[..., rows, head_dim]`; cos and sin `[rows, head_dim]`."""
    low, high = x.chunk(2, -1)
    return x * cos.to(x.dtype) + torch.cat([-high, low], -1) * sin.to(x.dtype)


class Target:
    """A Llama, read only."""

    def __init__(self, folder: Path, device: str, dtype: torch.dtype):
        config = json.loads((folder / "config.json").read_text())
        self.heads, self.groups = config["num_attention_heads"], config["num_key_value_heads"]
        self.size = config["hidden_size"] // self.heads
        self.eps, self.theta = config["rms_norm_eps"], config["rope_theta"]
        read = dequantized(folder / "target.safetensors", GROUPS[0], device)
        weights = {name: each.to(dtype) for name, each in read.items()}
        self.embeddings, self.norm = weights["embed_tokens.weight"], weights["norm.weight"]
        self.layers = []
        for i in range(config["num_hidden_layers"]):
            of = {
                k.removeprefix(f"layers.{i}."): w for k, w in weights.items() if k.startswith(f"layers.{i}.")
            }
            qkv = torch.cat([of[f"self_attn.{x}_proj.weight"] for x in "qkv"])
            up = torch.cat([of["mlp.gate_proj.weight"], of["mlp.up_proj.weight"]])
            out, down = of["self_attn.o_proj.weight"], of["mlp.down_proj.weight"]
            self.layers.append(
                (of["input_layernorm.weight"], qkv, out, of["post_attention_layernorm.weight"], up, down)
            )

    def rope(self, rows: int, device: str) -> tuple[Tensor, Tensor]:
        """(cos, sin), each `[rows, head_dim]`."""
        turn = self.theta ** (-torch.arange(0, self.size, 2, device=device) / self.size)
        angles = torch.arange(rows, device=device)[:, None] * turn
        return angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)

    def layer(self, i: int, x: Tensor, attend: Attend) -> Tensor:
        """`[b, rows, dim]`; `attend` gets `[b, heads, rows, head_dim]` and fewer heads of keys and values."""
        first, qkv, out, second, up, down = self.layers[i]
        b, rows, dim = x.shape
        split = (norm(x, first, self.eps) @ qkv.T).view(b, rows, -1, self.size).transpose(1, 2)
        found = attend(*split.split([self.heads, self.groups, self.groups], 1))
        x = x + found.transpose(1, 2).reshape(b, rows, dim) @ out.T
        gate, value = (norm(x, second, self.eps) @ up.T).chunk(2, -1)
        return x + (F.silu(gate) * value) @ down.T

    @torch.no_grad()
    def read(self, ids: Tensor, seen: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """(tapped states side by side, last normalised states); `seen` `[b, 1, rows, rows]`."""
        share = self.heads // self.groups

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            k, v = rotated(k, cos, sin).repeat_interleave(share, 1), v.repeat_interleave(share, 1)
            return F.scaled_dot_product_attention(rotated(q, cos, sin), k, v, attn_mask=seen)

        x, taps = self.embeddings[ids], []
        for i in range(len(self.layers)):
            x = self.layer(i, x, attend)
            taps += [x] if i in TAPS else []
        return torch.cat(taps, -1), norm(x, self.norm, self.eps)


class Head(torch.nn.Module):
    """An EAGLE-3 head; steps as `mlx_spec/training/unroll.py` has them."""

    def __init__(self, file: Path, target: Target, device: str):
        super().__init__()
        weights = dequantized(file, GROUPS[1], device)
        weights.pop("t2d", None)
        offsets = weights.pop("d2t").long()
        self.tokens = offsets + torch.arange(len(offsets), device=device)
        """The target's id of each token of its vocabulary."""
        self.weights = torch.nn.ParameterDict(
            {k.replace(".", "/"): torch.nn.Parameter(w.float()) for k, w in weights.items()}
        )
        self.target = target

    def matrices(self) -> list[torch.nn.Parameter]:
        """Those that Muon trains."""
        return [w for k, w in self.weights.items() if w.ndim == 2 and not k.startswith("lm_head")]

    def forward(
        self, ids: Tensor, states: Tensor, seen: Tensor, cos: Tensor, sin: Tensor, steps: int
    ) -> list[Tensor]:
        """Guesses `[b, rows, draft_vocab]` of each step."""
        target, (b, rows) = self.target, ids.shape
        share = target.heads // target.groups

        def weight(name: str) -> Tensor:
            return self.weights[name.replace(".", "/") + "/weight"].to(states.dtype)

        def normed(x: Tensor, name: str) -> Tensor:
            return norm(x, weight(name), target.eps)

        attention, mlp = "midlayer.self_attn.", "midlayer.mlp."
        qkv = torch.cat([weight(f"{attention}{x}_proj") for x in "qkv"])
        up = torch.cat([weight(f"{mlp}gate_proj"), weight(f"{mlp}up_proj")])
        hidden, embedded = states @ weight("fc").T, target.embeddings[ids]
        unseen = torch.zeros_like(seen, dtype=states.dtype).masked_fill_(~seen, -torch.inf)
        found, keys, values = [], [], []
        for s in range(steps):
            token = F.pad(embedded[:, 1 + s :], (0, 0, 0, 1 + s))
            joined = [normed(token, "midlayer.input_layernorm"), normed(hidden, "midlayer.hidden_norm")]
            split = (torch.cat(joined, -1) @ qkv.T).view(b, rows, -1, target.size).transpose(1, 2)
            q, k, v = split.split([target.heads, target.groups, target.groups], 1)
            places = cos[s : s + rows], sin[s : s + rows]
            q = rotated(q, *places) * target.size**-0.5
            keys.append(rotated(k, *places).repeat_interleave(share, 1))
            values.append(v.repeat_interleave(share, 1))
            own = [(q * each).sum(-1, keepdim=True) for each in keys[1:]]
            scores = torch.cat([q @ keys[0].mT + unseen, *own], -1).softmax(-1)
            got = scores[..., :rows] @ values[0]
            for j, each in enumerate(values[1:]):
                got = got + scores[..., rows + j : rows + j + 1] * each
            hidden = hidden + got.transpose(1, 2).reshape(b, rows, -1) @ weight(f"{attention}o_proj").T
            gate, value = (normed(hidden, "midlayer.post_attention_layernorm") @ up.T).chunk(2, -1)
            hidden = hidden + (F.silu(gate) * value) @ weight(f"{mlp}down_proj").T
            found.append(normed(hidden, "norm") @ weight("lm_head").T)
        return found
