"""DeepSeek-V3's and GLM's MTP layers, in the format of their repositories."""

from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import deepseek_v3, glm4_moe

from mlx_spec import Engine, Options
from mlx_spec.drafters.mtp import MtpDrafter
from mlx_spec.drafters.mtp_head import MtpHead
from models.load.drafters import LOADERS
from tests.mlx_spec.equations import arrays, attended, by_head, mlp, normed, turned
from tests.mlx_spec.heads import Uneven
from tests.mlx_spec.model_types import configuration
from tests.mlx_spec.proposals import proposed
from tests.mlx_spec.tiny_models import prompt, ragged, settled, text, tokens
from tests.models.load.mtp_by_hand import ByHand
from tests.models.load.test_mtp import (
    LENGTH,
    apart,
    glm,
    head_for,
    publish,
    target_of,
    taught,
    with_a_last_norm,
)

PROMPT, KIND, FLASH = prompt(12, 1), "deepseek_v3", "glm4_moe_lite"
ARGS = deepseek_v3.ModelArgs.from_dict(configuration(KIND) | {"n_routed_experts": 4, "n_shared_experts": 1})
NOPE, PE, LATENT, HEADS = 8, 8, 16, 4


def target(kind: str = KIND) -> Any:
    return with_a_last_norm(settled(deepseek_v3.Model(ARGS), 1)) if kind == KIND else target_of(kind)


def deepseek(weights: dict[str, mx.array], kind: str) -> dict[str, mx.array]:
    """One matrix makes keys and values from the latent vector, as in the repository."""
    at = "layers.0.self_attn."
    keys = weights.pop(f"{at}embed_q.weight").swapaxes(-1, -2)
    values = weights.pop(f"{at}unembed_out.weight")
    both = mx.concatenate([keys, values], axis=1).reshape(-1, LATENT)
    return glm(weights | {f"{at}kv_b_proj.weight": both}, kind)


def eight_bits(weights: dict[str, mx.array], kind: str) -> dict[str, mx.array]:
    """Matrices in blocks with a scale each."""
    found = {}
    for name, x in deepseek(weights, kind).items():
        found[name] = x
        if "proj.weight" in name and "eh_proj" not in name:
            scale = mx.abs(x).max() / 400
            found |= {name: mx.to_fp8(x / scale), f"{name}_scale_inv": scale.reshape(1, 1)}
    return found


def named(head: MtpHead) -> dict[str, mx.array]:
    """Its arrays, whether its layers were wrapped or not."""
    flat: Any = tree_flatten(head.parameters())
    return {name.replace(".layer.", "."): x for name, x in flat}


@pytest.mark.parametrize(
    ("kind", "packaging", "close"), [(KIND, deepseek, 1e-6), (KIND, eight_bits, 0.2), (FLASH, deepseek, 1e-6)]
)
def test_the_layer_is_read_tensor_for_tensor(kind: str, packaging: Any, close: float, tmp_path: Path) -> None:
    model = target(kind)
    head = head_for(model)
    read = LOADERS["mtp"](publish(tmp_path / "mtp", head, packaging, kind, apart), model, {}).head
    wanted, found = named(head), named(read)
    assert wanted.keys() == found.keys()
    assert all(np.allclose(np.array(wanted[n]), np.array(found[n]), atol=close) for n in wanted)
    assert packaging is deepseek or any(mx.abs(wanted[n] - found[n]).max() > 0 for n in wanted)


def states_of(model: Any, written: list[int]) -> mx.array:
    """The target's last hidden state of each token, `[1, tokens, dim]`."""
    found = model.model.embed_tokens(mx.array([written]))
    mask = mx.tril(mx.ones((len(written), len(written)), mx.bool_))
    for layer in model.layers:
        found = layer(found, mask)
    return found


@cache
def trained() -> MtpHead:
    return taught(target(), states_of)


class Latent(ByHand):
    """DeepSeek's layer (arXiv 2412.19437, sections 2.1 and 2.2)."""

    states_of = staticmethod(states_of)

    def _attention(self, x: np.ndarray) -> np.ndarray:
        """Keys and values from a latent vector; the rotated part of the keys is shared by all heads."""
        w, at, rows = self.w, "layers.0.self_attn.", np.arange(len(x))
        q = normed(x @ w[f"{at}q_a_proj.weight"].T, w[f"{at}q_a_layernorm.weight"], 1e-6)
        q = (q @ w[f"{at}q_b_proj.weight"].T).reshape(len(x), HEADS, NOPE + PE).transpose(1, 0, 2)
        both = x @ w[f"{at}kv_a_proj_with_mqa.weight"].T
        latent = normed(both[:, :LATENT], w[f"{at}kv_a_layernorm.weight"], 1e-6)
        keys = np.einsum("rl,hln->hrn", latent, w[f"{at}embed_q.weight"])
        values = np.einsum("rl,hvl->hrv", latent, w[f"{at}unembed_out.weight"])
        placed = np.repeat(_turned(both[None, :, LATENT:], rows), HEADS, axis=0)
        q = np.concatenate([q[..., :NOPE], _turned(q[..., NOPE:], rows)], axis=-1)
        keys = np.concatenate([keys, placed], axis=-1)
        return attended(q, keys, values, rows[:, None] >= rows) @ w[f"{at}o_proj.weight"].T

    def _mlp(self, x: np.ndarray) -> np.ndarray:
        """Two of four experts, chosen by sigmoids plus a bias, weighted without it; and a shared expert."""
        w, at = self.w, "layers.0.mlp."
        scores = 1 / (1 + np.exp(-x @ w[f"{at}gate.weight"].T))
        found = mlp(w, f"{at}shared_experts", x)
        for i, row in enumerate(scores):
            best = np.argsort(-(row + w[f"{at}gate.e_score_correction_bias"]))[:2]
            for expert in best:
                one = {
                    f"x.{part}.weight": w[f"{at}switch_mlp.{part}.weight"][expert]
                    for part in ("gate_proj", "up_proj", "down_proj")
                }
                found[i] += row[expert] / row[best].sum() * mlp(one, "x", x[i : i + 1])[0]
        return found


def _turned(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """RoPE on pairs of neighbouring dimensions."""
    pairs = x.shape[-1] // 2
    angles = positions[:, None] * 10_000.0 ** (-np.arange(pairs) / pairs)
    a, b = x[..., ::2], x[..., 1::2]
    both = [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)]
    return np.stack(both, axis=-1).reshape(x.shape)


def test_its_drafts_are_those_of_its_equations_after_any_acceptance(tmp_path: Path) -> None:
    head = trained()
    by_hand = Latent(arrays(dict(tree_flatten(head.parameters()))), target())  # type: ignore[arg-type]
    drafter = LOADERS["mtp"](publish(tmp_path / "mtp", head, deepseek, KIND, apart), target(), {})
    engine = Engine(target(), [drafter], context_limit=400)
    rounds = proposed(engine, PROMPT, "mtp", max_tokens=LENGTH + 6, draft_length=3)
    assert len({each.read.accepted for each in rounds}) >= 3, "acceptances of several kinds"
    engine.controller = Uneven([0, 2, 0, 0, 3, 1])  # type: ignore[assignment]
    for each in [*rounds, *proposed(engine, PROMPT, "mtp", max_tokens=12)]:
        assert each.is_near(*by_hand.draft(each.before, len(each.logits)), 1e-5)


class Glm(Latent):
    """GLM-4.5's layer: DeepSeek's experts, and attention with biases, norms and half of each head rotated."""

    def _attention(self, x: np.ndarray) -> np.ndarray:
        w, at, rows = self.w, "layers.0.self_attn.", np.arange(len(x))
        q, k, v = (
            by_head(x @ w[f"{at}{name}_proj.weight"].T + w[f"{at}{name}_proj.bias"], heads)
            for name, heads in (("q", 4), ("k", 2), ("v", 2))
        )

        def placed(y: np.ndarray, name: str) -> np.ndarray:
            y = normed(y, w[f"{at}{name}_norm.weight"], 1e-5)
            return np.concatenate([turned(y[..., :4], rows, 10_000.0), y[..., 4:]], axis=-1)

        found = attended(placed(q, "q"), placed(k, "k"), v, rows[:, None] >= rows)
        return found @ w[f"{at}o_proj.weight"].T


def test_drafts_of_glms_layer_are_those_of_its_equations(tmp_path: Path) -> None:
    flags = {"attention_bias": True, "use_qk_norm": True, "partial_rotary_factor": 0.5}
    args = glm4_moe.ModelArgs.from_dict(configuration("glm4_moe") | flags)
    model: Any = with_a_last_norm(settled(glm4_moe.Model(args), 1))
    head = head_for(model)
    by_hand = Glm(arrays(dict(tree_flatten(head.parameters()))), model)  # type: ignore[arg-type]
    drafter = LOADERS["mtp"](publish(tmp_path / "mtp", head, glm, "glm4_moe", apart), model, {})
    rounds = proposed(
        Engine(model, [drafter], context_limit=400), PROMPT, "mtp", max_tokens=12, draft_length=3
    )
    assert len(rounds) > 3
    assert all(each.is_near(*by_hand.draft(each.before, len(each.logits)), 1e-5) for each in rounds)


class Trees(Uneven):
    """Every round drafts a tree."""

    def choose(self, candidates, length):
        return next(each for each in candidates if each.nodes), 3


def test_trees_and_three_ragged_texts_are_those_of_plain_decoding() -> None:
    engine = Engine(target(), [MtpDrafter(trained())], context_limit=400)
    assert ragged(engine, "mtp") > 0
    options = {"max_tokens": 16, "temperature": 0.8, "seed": 2}
    plain = text(engine, PROMPT, drafter="none", **options)
    engine.controller = Trees([])  # type: ignore[assignment]
    drafted = list(engine.generate(PROMPT, Options(drafter="mtp", **options)))
    assert tokens(drafted) == plain
    assert any(len(each.drafted) == 7 for each in drafted)
