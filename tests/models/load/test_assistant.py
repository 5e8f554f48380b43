"""Gemma 4's assistants in Google's and mlx-vlm's formats are loaded; others are refused by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import gemma4, gemma4_text

from mlx_spec import Engine, UnsupportedModel
from mlx_spec.arrays import Length
from mlx_spec.drafters.assistant import AssistantDrafter
from mlx_spec.drafters.assistant_head import AssistantHead, Seen, _products
from models.errors import BrokenFiles
from models.load.drafters import LOADERS
from models.pairs.folder import check_drafter
from tests.mlx_spec.assistant_heads import (
    ARGS,
    CLUSTERED,
    CLUSTERS,
    FULL,
    SHAPE,
    SLIDING,
    TARGET,
    WINDOW,
    by_hand,
    head_for,
    target,
)
from tests.mlx_spec.drafters.learnt import LEARNT, LENGTH, PROMPT, model
from tests.mlx_spec.grid import grid
from tests.mlx_spec.proposals import Proposed, proposed
from tests.mlx_spec.tiny_models import VOCAB, tiny_llama
from tests.models.drafter_folders import Tensors, edit_config, edit_tensors, write_folder

NAME = "assistant"
ROPE = {
    FULL: {"rope_type": "proportional", "rope_theta": 1_000_000.0, "partial_rotary_factor": 0.25},
    SLIDING: {"rope_type": "default", "rope_theta": 10_000.0},
}


def publish(folder: Path, head: AssistantHead, **changes: Any) -> Path:
    """As transformers saves it."""
    shape, args = head.shape, head.shape.args
    weights: Tensors = {}
    for name, x in tree_flatten(head.parameters()):
        part, _, rest = name.partition(".")  # type: ignore[union-attr]
        own = {"lm_head": "model.embed_tokens", "centroids": "masked_embedding.centroids"}
        inside = f"model.{part}" if part in ("layers", "norm") else part
        weights[f"{own.get(part, inside)}.{rest}"] = x  # type: ignore[assignment]
    if shape.likely:
        weights["masked_embedding.token_ordering"] = mx.array(CLUSTERS.flatten().astype(np.int64))
    inner = {
        "model_type": "gemma4_text", "hidden_size": 32, "intermediate_size": args.intermediate_size,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1, "vocab_size": head.vocab,
        "num_kv_shared_layers": 2, "layer_types": args.layer_types, "sliding_window": WINDOW,
        "rope_parameters": ROPE, "final_logit_softcapping": shape.softcap,
    }  # fmt: skip
    config = {
        "model_type": "gemma4_assistant", "text_config": inner, "backbone_hidden_size": 32,
        "use_ordered_embeddings": bool(shape.likely), "num_centroids": 12,
        "centroid_intermediate_top_k": 5, "tie_word_embeddings": True,
    }  # fmt: skip
    return write_folder(folder, config | changes, weights)


@pytest.mark.parametrize(
    ("clustered", "kind"),
    grid(
        (False, True),
        ("gemma4_assistant", "gemma4_unified_assistant"),
        usual=[(False, "gemma4_unified_assistant"), (True, "gemma4_assistant")],
    ),
)
def test_its_drafts_are_those_of_its_equations(clustered: bool, kind: str, tmp_path: Path) -> None:
    """A target with and without the wrapper of a vision model."""
    head = head_for(target(), CLUSTERED if clustered else SHAPE)
    folder = publish(tmp_path / "assistant", head, model_type=kind)
    assert check_drafter(folder) == "assistant"
    model: Any = target()
    if kind == "gemma4_unified_assistant":
        inner = model
        model = gemma4.Model(gemma4.ModelArgs("gemma4", vars(TARGET), VOCAB))
        model.language_model.update(inner.parameters())
    drafter = LOADERS["assistant"](folder, model, {})
    assert drafter.head.shape.reads == {SLIDING: 2, FULL: 1}
    engine = Engine(model, [drafter], context_limit=400)
    rounds = proposed(engine, PROMPT, "assistant", max_tokens=12, draft_length=3)
    assert rounds[-1].before[WINDOW:], "further than the window"
    assert len(rounds) > 4 and all(is_right(one, head) for one in rounds)


def test_queries_one_place_later_draft_something_else() -> None:
    """Positions as in transformers, unlike the engines that measure acceptance (vLLM, mlx-vlm)."""

    class Later(AssistantDrafter):
        def _seen(self, kind: str, at: Length) -> Seen:
            return replace(super()._seen(kind, at), position=at.plus(1).value)

    head = head_for(target())
    engine = Engine(target(), [Later(head)], context_limit=400)
    rounds = proposed(engine, PROMPT, NAME, max_tokens=6, draft_length=2)
    assert rounds and not all(is_right(one, head) for one in rounds)


def is_right(one: Proposed, head: AssistantHead) -> bool:
    return one.is_near(*by_hand(head, one.before, len(one.read.drafted)))


def test_output_rows_of_its_own_and_a_quantized_file_are_read(tmp_path: Path) -> None:
    head = head_for(target(), CLUSTERED)
    folder, rows = publish(tmp_path / "assistant", head), "model.embed_tokens.weight"
    own = edit_tensors(folder, lambda t: t.update({"lm_head.weight": t[rows], rows: mx.ones((VOCAB, 32))}))
    assert mx.array_equal(LOADERS["assistant"](own, target(), {}).head.lm_head.weight, head.lm_head.weight)

    def quantize(tensors: Tensors) -> None:
        for name in [name for name, x in tensors.items() if x.ndim == 2]:
            part = name.removesuffix(".weight")
            packed = mx.quantize(tensors.pop(name), group_size=32, bits=8)
            names = (name, f"{part}.scales", f"{part}.biases")
            tensors.update(zip(names, packed, strict=True))

    edit_tensors(publish(folder, head, quantization={"group_size": 32, "bits": 8}), quantize)
    read = LOADERS["assistant"](folder, target(), {}).head
    assert mx.allclose(read.lm_head.weight, head.lm_head.weight, atol=2e-2)


def test_products_with_some_quantized_rows_are_those_of_all(tmp_path: Path) -> None:
    layer = nn.Linear(64, 40, bias=False)
    states, few = (
        mx.random.normal((3, 1, 64), key=mx.random.key(1)),
        mx.array([[[3, 9]], [[0, 1]], [[39, 5]]]),
    )
    for each in (layer, layer.to_quantized(32, 4)):
        wanted = mx.take_along_axis(each(states), few, axis=-1)
        assert mx.allclose(_products(each, few, states), wanted, atol=1e-4)


def test_a_trained_one_is_often_right_and_one_that_is_read_wrongly_is_not(tmp_path: Path) -> None:
    """A wrong soft cap, clusters or layers would lower the acceptance below the floor."""
    folder = publish(tmp_path / "assistant", model(LEARNT[NAME]))  # type: ignore[arg-type]

    def first_two(folder: Path) -> tuple[float, float]:
        engine = Engine(target(), [LOADERS["assistant"](folder, target(), {})], context_limit=400)
        rounds = proposed(engine, PROMPT, NAME, max_tokens=LENGTH, draft_length=2)
        first, second = (sum(one.read.accepted >= n for one in rounds) / len(rounds) for n in (1, 2))
        return first, second

    first, second = first_two(folder)
    assert first > 0.8 and second > 0.6
    name = "pre_projection.weight"
    edit_tensors(folder, lambda t: t.update({name: mx.roll(t[name], 32, 1)}))  # the state for the token
    assert first_two(folder)[0] < first - 0.3


def test_assistants_of_other_targets_and_damaged_ones_are_refused_by_name(tmp_path: Path) -> None:
    folder = publish(tmp_path / "assistant", head_for(target()))
    with pytest.raises(UnsupportedModel, match="values of Gemma 4, and this target is of the type llama"):
        LOADERS["assistant"](folder, tiny_llama(), {})
    for other, message in (
        (replace(TARGET, global_head_dim=8), "keys of 16 numbers .full_attention., and this target has 8"),
        (replace(TARGET, layer_types=[FULL] * 5), "sliding_attention.*this target has 0"),
        (replace(TARGET, hidden_size=64), "120 tokens and 32 numbers.*has 120 and 64"),
    ):
        with pytest.raises(UnsupportedModel, match=message):
            LOADERS["assistant"](folder, gemma4_text.Model(other), {})
    inner = json.loads((folder / "config.json").read_text())["text_config"]
    for odd, message in (
        ({"final_logit_softcapping": "30"}, "its final_logit_softcapping is '30'"),
        ({"sliding_window": "all"}, "its sliding_window is 'all'"),
        ({"rope_parameters": {FULL: {"rope_theta": "1e6"}}}, "its rope_theta is '1e6'"),
    ):
        with pytest.raises(BrokenFiles, match=message):
            LOADERS["assistant"](edit_config(folder, text_config=inner | odd), target(), {})
    del inner["layer_types"]
    with pytest.raises(BrokenFiles, match="names no 'layer_types'"):
        LOADERS["assistant"](edit_config(folder, text_config=inner), target(), {})


def test_a_target_whose_keys_and_values_are_quantized_is_refused() -> None:
    same = {"num_kv_shared_layers": 0, "head_dim": 64, "global_head_dim": 64}
    model, shape = gemma4_text.Model(replace(TARGET, **same)), replace(SHAPE, args=replace(ARGS, **same))
    with pytest.raises(UnsupportedModel, match="keys and values, and these are quantized. Leave kv_bits out"):
        Engine(model, [AssistantDrafter(head_for(model, shape))], context_limit=400, kv_bits=8)


def name_one_twice(tensors: Tensors) -> None:
    order = CLUSTERS.flatten()
    order[3] = order[4]
    tensors["masked_embedding.token_ordering"] = mx.array(order)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda t: t.pop("pre_projection.weight"), "does not match its config.json"),
        (lambda t: t.pop("model.layers.1.self_attn.q_norm.weight"), "names no 'layers.1.self_attn.q_norm.w"),
        (lambda t: t.pop("masked_embedding.centroids.weight"), "does not match its config.json"),
        (name_one_twice, "token_ordering does not name each of 120 tokens once"),
    ],
)
def test_tensors_that_are_missing_or_out_of_order_are_named(
    damage: Any, message: str, tmp_path: Path
) -> None:
    folder = edit_tensors(publish(tmp_path / "assistant", head_for(target())), damage)
    with pytest.raises(BrokenFiles, match=message):
        LOADERS["assistant"](folder, target(), {})
