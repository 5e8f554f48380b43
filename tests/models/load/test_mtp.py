"""Multi-token prediction layers in published formats are loaded and draft by their equations."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten, tree_unflatten

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.drafters.draft_head import embedding_of
from mlx_spec.drafters.mtp import MtpDrafter
from mlx_spec.drafters.mtp_head import MtpHead
from models.errors import BrokenFiles
from models.load.drafters import LOADERS
from models.load.heads import text_model
from models.load.mtp import _layer
from models.pairs.folder import check_drafter
from tests.mlx_spec.equations import arrays
from tests.mlx_spec.heads import Uneven
from tests.mlx_spec.model_types import build
from tests.mlx_spec.proposals import proposed
from tests.mlx_spec.tiny_models import fitted, prompt, ragged, settled, text, tokens
from tests.models.drafter_folders import edit_config, edit_tensors, write_folder
from tests.models.load.mtp_by_hand import ByHand, last_states

PROMPT, LENGTH = prompt(12, 1), 24
Weights = dict[str, mx.array]


def target_of(kind: str) -> Any:
    """Seeded: some types also initialize vectors at random."""
    mx.random.seed(1)
    return with_a_last_norm(build(kind))


def with_a_last_norm(target: Any) -> Any:
    """Of other weights than 1, which would not show."""
    norm = text_model(target).model.norm
    norm.weight = norm.weight + 0.3 * mx.random.normal(norm.weight.shape, key=mx.random.key(6))
    return target


def head_for(target: Any, seed: int = 3) -> MtpHead:
    layer, eps = _layer(target)
    table = embedding_of(target)
    latent = any("embed_q" in name for name, _ in layer.named_modules())
    return settled(MtpHead(target, layer, *table.weight.shape, eps, latent), seed, spread=1.0)  # type: ignore[return-value]


def original(weights: Weights, kind: str) -> Weights:
    """With other tensors of its shard."""
    found = {f"mtp.{name}": x - 1 if x.ndim == 1 else x for name, x in weights.items()}
    return found | {"model.layers.3.mlp.up_proj.weight": mx.ones((4, 4)), "lm_head.weight": mx.ones((4, 4))}


def vision(weights: Weights, kind: str) -> Weights:
    return {
        f"language_model.{name}" if "mtp" in name else name: x for name, x in original(weights, kind).items()
    }


def mlx_vlm(weights: Weights, kind: str) -> Weights:
    return weights


PARTS_OF_SPECULATORS = {
    "fc": "input_proj", "norm": "final_layernorm", "pre_fc_norm_hidden": "hidden_layernorm",
    "pre_fc_norm_embedding": "token_layernorm",
}  # fmt: skip
PARTS_OF_GLM = {
    "fc": "eh_proj", "norm": "shared_head.norm", "pre_fc_norm_hidden": "hnorm",
    "pre_fc_norm_embedding": "enorm",
}  # fmt: skip


def renamed(weights: Weights, parts: dict[str, str], at: str) -> Weights:
    found: Weights = {}
    for name, x in weights.items():
        part, _, rest = name.rpartition(".")
        found[f"{at}.{parts[part]}.{rest}" if part in parts else f"{at}.{name.removeprefix('layers.0.')}"] = x
    return found


def speculators(weights: Weights, kind: str) -> Weights:
    own = renamed(weights, PARTS_OF_SPECULATORS, "mtp_layers.0")
    return {name: x - 1 if x.ndim == 1 else x for name, x in own.items()} | {
        "embed_tokens.weight": mx.ones((4, 4))
    }


def glm(weights: Weights, kind: str) -> Weights:
    """With other tensors of its shard."""
    others = ("91.mlp.up_proj", "92.embed_tokens", "92.shared_head.head")
    found = renamed(weights, PARTS_OF_GLM, "model.layers.92")
    return found | {f"model.layers.{name}.weight": mx.ones((4, 4)) for name in others}


def two_layers(weights: Weights, kind: str) -> Weights:
    """The second, for the token after, is not read."""
    return glm(weights, kind) | {"model.layers.93.eh_proj.weight": mx.ones((4, 4))}


def two_of_qwen(weights: Weights, kind: str) -> Weights:
    """As `two_layers`."""
    return original(weights, kind) | {"mtp.layers.1.input_layernorm.weight": mx.ones((4,))}


PARTS = ("gate_proj", "up_proj", "down_proj")


def fused(weights: Weights) -> Weights:
    """Experts in Qwen3.5's format."""
    at = "layers.0.mlp."
    gate, up, down = (weights.pop(f"{at}switch_mlp.{part}.weight") for part in PARTS)
    joined = mx.concatenate([gate, up], axis=-2)
    return weights | {f"{at}experts.gate_up_proj": joined, f"{at}experts.down_proj": down}


def apart(weights: Weights) -> Weights:
    """Experts one by one, as Qwen3-Next's and GLM's."""
    for part in PARTS:
        stacked = weights.pop(f"layers.0.mlp.switch_mlp.{part}.weight")
        weights |= {f"layers.0.mlp.experts.{i}.{part}.weight": x for i, x in enumerate(stacked)}
    return weights


def publish(
    folder: Path, head: MtpHead, packaging: Callable[[Weights, str], Weights], kind: str, experts: Any = None
) -> Path:
    weights: Weights = dict(tree_flatten(head.parameters()))  # type: ignore[arg-type]
    weights = packaging(experts(weights) if experts else weights, kind)
    sizes = {"vocab_size": head.vocab, "hidden_size": head.width}
    config: dict[str, Any] = {"model_type": f"{kind}_mtp", "text_config": sizes}
    if packaging is speculators:
        config = {
            "speculators_model_type": "mtp",
            "transformer_layer_config": {"model_type": "qwen3", **sizes},
        }
    return write_folder(folder, config, weights)


@pytest.mark.parametrize(
    ("kind", "packaging", "experts"),
    [
        ("qwen3_5", original, None),
        ("qwen3_5", two_of_qwen, None),
        ("qwen3_5", vision, None),
        ("qwen3_5", mlx_vlm, None),
        ("qwen3_5", speculators, None),
        ("qwen3_5_moe", original, fused),
        ("qwen3_next", original, apart),
        ("glm4_moe", two_layers, apart),
        ("glm4_moe", mlx_vlm, None),
    ],
)
def test_every_packaging_is_read_tensor_for_tensor(
    kind: str, packaging: Any, experts: Any, tmp_path: Path
) -> None:
    target = target_of(kind)
    head = head_for(target)
    folder = publish(tmp_path / "mtp", head, packaging, kind, experts)
    assert check_drafter(folder) == "mtp"
    read = LOADERS["mtp"](folder, target, {}).head
    wanted, found = (dict(tree_flatten(each.parameters())) for each in (head, read))
    assert wanted.keys() == found.keys()
    assert all(np.allclose(np.array(wanted[name]), np.array(found[name]), atol=1e-6) for name in wanted)
    if experts is None:
        return  # the text of Qwen3.5's layer is compared below
    options = Options(max_tokens=10, temperature=0.8, drafter="mtp", draft_length=3)
    engine = Engine(target, [MtpDrafter(read)], context_limit=400)
    drafted = list(engine.generate(PROMPT, options))
    assert tokens(drafted) == text(engine, PROMPT, max_tokens=10, temperature=0.8, drafter="none")
    assert {played.drafter for played in drafted} == {"none", "mtp"}


MEANS = {
    "layers.0.self_attn.q_norm": 1.79, "layers.0.self_attn.k_norm": 1.78, "layers.0.input_layernorm": 1.04,
    "layers.0.post_attention_layernorm": 1.21, "pre_fc_norm_hidden": 0.84, "pre_fc_norm_embedding": 0.54,
    "norm": 2.25,
}  # fmt: skip
"""Of a published layer's norms (tests of youssofal/MTPLX)."""


@pytest.mark.parametrize("packaging", [original, mlx_vlm])
def test_norms_of_published_sizes_are_read_whole(packaging: Any, tmp_path: Path) -> None:
    target = target_of("qwen3_5")
    head = head_for(target)
    shapes: dict[str, Any] = dict(tree_flatten(head.parameters()))
    norms = {f"{name}.weight": mx.full(shapes[f"{name}.weight"].shape, mean) for name, mean in MEANS.items()}
    head.update(tree_unflatten(list(norms.items())))
    read = LOADERS["mtp"](publish(tmp_path / "mtp", head, packaging, "qwen3_5"), target, {}).head
    found: dict[str, Any] = dict(tree_flatten(read.parameters()))
    assert all(mx.allclose(found[name], x) for name, x in norms.items())


def taught(target: Any, states_of: Any) -> MtpHead:
    """A layer trained on one of its target's texts."""
    plain, head = Engine(target, context_limit=400), head_for(target)
    written = PROMPT + text(plain, PROMPT, max_tokens=LENGTH)
    ids = mx.array([written])
    features = mx.stop_gradient(head.features([states_of(target, written)]))

    def loss() -> mx.array:
        logits = head.guesses(head(ids[:, 1:-1], hidden=features[:, :-2]))
        return nn.losses.cross_entropy(logits, ids[:, 2:], reduction="mean")

    fitted(head, loss, 25, 1e-2)
    return head


@cache
def trained() -> MtpHead:
    return taught(target_of("qwen3_5"), last_states)


def test_its_drafts_are_those_of_its_equations_after_any_acceptance(tmp_path: Path) -> None:
    target, head = target_of("qwen3_5"), trained()
    weights = arrays(dict(tree_flatten(head.parameters())))
    by_hand = ByHand(weights, target_of("qwen3_5"))
    drafter = LOADERS["mtp"](publish(tmp_path / "mtp", head, original, "qwen3_5"), target, {})
    engine = Engine(target, [drafter], context_limit=400)
    rounds = proposed(engine, PROMPT, "mtp", max_tokens=LENGTH + 6, draft_length=4)
    assert len({each.read.accepted for each in rounds}) >= 3, "acceptances of several kinds"
    engine.controller = Uneven([0, 2, 0, 0, 4, 1])  # type: ignore[assignment]
    for each in [*rounds, *proposed(engine, PROMPT, "mtp", max_tokens=16)]:
        assert each.is_near(*by_hand.draft(each.before, len(each.logits)), 1e-5)


class Blind(MtpHead):
    """Reads tokens only."""

    def __call__(self, ids: mx.array, cache: Any = None, hidden: mx.array | None = None) -> mx.array:
        return super().__call__(ids, cache, None if hidden is None else mx.zeros_like(hidden))


def accepted(drafter: MtpDrafter, target: Any) -> list[float]:
    """The acceptance of the first and the second drafted token, over the text it was trained on."""
    engine = Engine(target, [drafter], context_limit=400)
    options = Options(max_tokens=LENGTH, drafter="mtp", draft_length=2)
    rounds = [read for read in engine.generate(PROMPT, options) if read.drafted]
    return [sum(read.accepted >= place for read in rounds) / len(rounds) for place in (1, 2)]


def test_a_trained_layer_is_often_right_and_one_that_is_read_wrongly_is_not(tmp_path: Path) -> None:
    target, head = target_of("qwen3_5"), trained()
    drafter = LOADERS["mtp"](publish(tmp_path / "mtp", head, original, "qwen3_5"), target, {})
    first, second = accepted(drafter, target)
    assert first > 0.7 and second > 0.3, (first, second)
    target = target_of("qwen3_5")
    blind = Blind(target, _layer(target)[0], head.vocab, head.width, 1e-6)
    blind.update(head.parameters())
    assert accepted(MtpDrafter(blind), target)[0] < first - 0.2


@pytest.mark.parametrize("kind", ["qwen3_5", pytest.param("glm4_moe", marks=pytest.mark.slow)])
def test_a_second_turn_and_three_ragged_texts_are_those_of_plain_decoding(kind: str) -> None:
    target = target_of(kind)
    engine = Engine(target, [MtpDrafter(head_for(target))], context_limit=400)
    first = text(engine, PROMPT, max_tokens=8, drafter="mtp", draft_length=3)
    longer = PROMPT + first[:5] + prompt(7, 3)
    for t in (0.0, 0.8):
        drafted = text(engine, longer, max_tokens=8, temperature=t, drafter="mtp", draft_length=3)
        assert drafted == text(engine, longer, max_tokens=8, temperature=t, drafter="none")
    ragged(engine, "mtp")


def test_layers_of_other_targets_and_damaged_ones_are_refused_by_name(tmp_path: Path) -> None:
    target = target_of("qwen3_5")
    folder = publish(tmp_path / "mtp", head_for(target), original, "qwen3_5")
    with pytest.raises(UnsupportedModel, match="glm4_moe_lite, deepseek_v3, and this one is llama"):
        LOADERS["mtp"](folder, target_of("llama"), {})
    sizes = {"vocab_size": 120, "hidden_size": 32}
    edit_config(folder, text_config=sizes | {"hidden_size": 40})
    with pytest.raises(UnsupportedModel, match="made for this target"):
        LOADERS["mtp"](folder, target, {})
    edit_config(folder, text_config=sizes, mtp_use_dedicated_embeddings=True)
    with pytest.raises(UnsupportedModel, match="its own embeddings, which are not supported"):
        LOADERS["mtp"](folder, target, {})
    edit_config(folder, mtp_use_dedicated_embeddings=False)
    edit_tensors(folder, lambda tensors: tensors.pop("mtp.fc.weight"))
    with pytest.raises(BrokenFiles, match="does not match its config.json"):
        LOADERS["mtp"](folder, target, {})
