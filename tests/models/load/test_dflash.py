"""DFlash and DSpark heads in published formats draft by their equations, or are refused by name."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_spec import Engine, UnsupportedModel
from mlx_spec.drafters.dflash import DFlashDrafter
from mlx_spec.drafters.dflash_head import DFlashHead
from models.errors import BrokenFiles
from models.load.dflash import _taps
from models.load.drafters import LOADERS
from models.pairs.folder import check_drafter
from tests.mlx_spec.dflash_heads import BLOCK, DSPARK, MASK, SECOND, SHAPE, SIZES, by_hand, random_head
from tests.mlx_spec.equations import arrays, states
from tests.mlx_spec.heads import KNOWN, target
from tests.mlx_spec.proposals import proposed
from tests.mlx_spec.tiny_models import VOCAB, prompt, text
from tests.models.drafter_folders import Tensors, edit_tensors, write_folder

PROMPT, WINDOW = prompt(24, 1), 6
LAYERS = {
    "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "num_hidden_layers": 2, "rms_norm_eps": 1e-5, "vocab_size": VOCAB,
    "max_position_embeddings": 512, "model_type": "qwen3",
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
}  # fmt: skip
SLIDING = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": WINDOW}


def z_lab(**more: Any) -> dict[str, Any]:
    named = {"architectures": ["DFlashDraftModel"], "block_size": BLOCK, "num_target_layers": 4}
    return {
        **LAYERS,
        **named,
        "dflash_config": {"mask_token_id": MASK, "target_layer_ids": [0, 1, 2]},
        **more,
    }


def spec_forge(**more: Any) -> dict[str, Any]:
    """DSpark: DFlash's keys and its own."""
    own = {**z_lab()["dflash_config"], "projector_type": "dspark", "markov_rank": 8, "block_size": BLOCK}
    return {**LAYERS, "architectures": ["DFlashDraftModel"], "dflash_config": {**own, **more}}


def deep_spec(**more: Any) -> dict[str, Any]:
    """With a copy of the target's config, and the ids outside of it."""
    named = {"architectures": ["Qwen3DSparkModel"], "mask_token_id": MASK, "target_layer_ids": [0, 1, 2]}
    markov = {"markov_rank": 8, "markov_head_type": "vanilla", "enable_confidence_head": True}
    return {**LAYERS, **named, **markov, "block_size": BLOCK, "num_target_layers": 4, **more}


def speculators(family: str, anchor: bool, **more: Any) -> dict[str, Any]:
    """Counts layers by their inputs; the layers' config is nested."""
    inner = {**LAYERS, **{key: more.pop(key) for key in SLIDING if key in more}}
    named = {"speculators_model_type": family, "sample_from_anchor": anchor, "mask_token_id": MASK}
    ids = {"aux_hidden_state_layer_ids": [1, 2, 3], "draft_vocab_size": 9, "block_size": BLOCK}
    return {"architectures": ["X"], **named, **ids, "transformer_layer_config": inner, **more}


def proposing(drafts: int) -> dict[str, Any]:
    return {"proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": drafts}]}


def speculators_before_anchors(made: Any, family: str = "dspark") -> dict[str, Any]:
    """As the first heads have it: without `sample_from_anchor`."""
    config = speculators(family, False, speculators_config=made)
    del config["sample_from_anchor"]
    return config


def dflash2(**more: Any) -> dict[str, Any]:
    own = {"conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 4, "selector_top_k": 8}
    named = {"architectures": ["DFlash2DraftModel"], "dflash_config": z_lab()["dflash_config"] | own}
    return z_lab(**named, **more)


FEW = replace(SHAPE, tokens=KNOWN, own_rows=True)
CASES: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "z-lab": (z_lab(), SHAPE, {}),
    "z-lab, sliding": (z_lab(**SLIDING), SHAPE, {"window": WINDOW}),
    "z-lab, all causal": (z_lab(**SLIDING, is_causal=True), SHAPE, {"window": WINDOW, "causal": True}),
    "z-lab, none causal": (z_lab(**SLIDING, is_causal=False), SHAPE, {"window": WINDOW, "causal": False}),
    "SpecForge": (spec_forge(), DSPARK, {}),
    "SpecForge, few tokens": (spec_forge(), replace(DSPARK, tokens=KNOWN), {}),
    "SpecForge, labels not shifted": (spec_forge(shift_label=False), replace(SHAPE, markov_rank=8), {}),
    "DeepSpec": (deep_spec(), DSPARK, {}),
    "LFM2": (
        z_lab(architectures=["Lfm2DSparkDraftModel"], rope_is_neox_style=False, markov_rank=8),
        DSPARK,
        {},
    ),
    "DFlash2": (dflash2(), SECOND, {}),
    "speculators": (speculators("dflash", False), SHAPE, {}),
    "speculators, few tokens": (speculators("dflash", False), FEW, {}),
    "speculators, sliding": (
        speculators("dflash", False, sliding_window_non_causal=True, **SLIDING),
        SHAPE,
        {"window": WINDOW, "causal": False},
    ),
    "speculators, dspark": (speculators("dspark", True), replace(FEW, markov_rank=8, from_anchor=True), {}),
    "speculators, dspark after the anchor": (speculators("dspark", False), replace(SHAPE, markov_rank=8), {}),
    "speculators, dspark of as many drafts as rows": (
        speculators_before_anchors(proposing(BLOCK)),
        DSPARK,
        {},
    ),
    "speculators, dspark of one draft less": (
        speculators_before_anchors(proposing(BLOCK - 1)),
        replace(SHAPE, markov_rank=8),
        {},
    ),
    "speculators, dflash of any number of drafts": (
        speculators_before_anchors(proposing(BLOCK), "dflash"),
        SHAPE,
        {},
    ),
}
"""(config.json, the head, further arguments of its equations)"""


def publish(folder: Path, head: DFlashHead, config: dict[str, Any]) -> Path:
    weights: dict[str, mx.array] = dict(tree_flatten(head.parameters()))  # type: ignore[arg-type]
    if config.get("architectures") == ["Qwen3DSparkModel"]:  # frozen copies of the target's
        weights |= {"embed_tokens.weight": mx.ones((VOCAB, 32)), "lm_head.weight": mx.ones((VOCAB, 32))}
        weights |= {
            "confidence_head.proj.weight": mx.ones((1, 40)),
            "confidence_head.proj.bias": mx.ones((1,)),
        }
    if head.shape.tokens == KNOWN:
        weights["d2t"] = mx.array(KNOWN) - mx.arange(len(KNOWN))
    if config.get("rope_is_neox_style") is False:
        weights = {name: _interleaved(name, x) for name, x in weights.items()}
    weights = {name.replace("_codebook.weight", "_codebook"): x for name, x in weights.items()}
    return write_folder(folder, config, weights)


def _interleaved(name: str, x: mx.array) -> mx.array:
    """For RoPE of neighbouring numbers: those of each head's two halves in turn, of queries and keys."""
    if not any(f".{part}." in name for part in ("q_proj", "k_proj", "q_norm", "k_norm")):
        return x
    heads = x.shape[0] // LAYERS["head_dim"]
    return x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def loaded(folder: Path) -> DFlashDrafter:
    drafter = LOADERS[check_drafter(folder)](folder, target(), {})
    assert drafter.name == check_drafter(folder) and drafter.taps == (0, 1, 2)
    return drafter


@cache
def of_target():
    return arrays(dict(tree_flatten(target().parameters())))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES)
def test_its_drafts_are_those_of_its_equations(tmp_path, case):
    config, shape, more = CASES[case]
    head = random_head(shape)
    drafter, equations = loaded(publish(tmp_path / "head", head, config)), by_hand(head, **more)
    if shape.tokens == KNOWN:
        rows = equations.w["lm_head.weight"] if shape.own_rows else equations.rows[list(KNOWN)]
        equations = replace(equations, rows=rows, w={**equations.w, "d2t": KNOWN_OFFSETS})
    engine = Engine(target(), [drafter], context_limit=400)
    rounds = proposed(engine, PROMPT, drafter.name, max_tokens=8, draft_length=shape.room)
    assert len(rounds) > 3 and all(len(one.read.drafted) == shape.room for one in rounds[:2])
    for one in rounds:
        found = states(of_target(), one.before[:-1], 4, SIZES)
        wanted = equations.draft(found[1:4], one.before, len(one.read.drafted))
        assert one.is_near(*wanted, known=shape.tokens)


KNOWN_OFFSETS = np.array(KNOWN) - np.arange(len(KNOWN))


@pytest.mark.parametrize(
    ("case", "temperature"),
    [("z-lab, sliding", 0.0), ("DFlash2", 0.8), pytest.param("DeepSpec", 0.0, marks=pytest.mark.slow)],
)
def test_the_text_is_that_of_plain_decoding(tmp_path, case, temperature):
    config, shape, _ = CASES[case]
    drafter = loaded(publish(tmp_path / "head", random_head(shape), config))
    engine = Engine(target(), [drafter], context_limit=400)
    options = {"max_tokens": 10, "temperature": temperature, "seed": 2}
    wanted = text(engine, PROMPT, drafter="none", **options)
    assert text(engine, PROMPT, drafter=drafter.name, draft_length=4, **options) == wanted


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (z_lab(dflash_config={"mask_token_id": 120, "target_layer_ids": [0, 1, 2]}), UnsupportedModel,
         "token 120"),
        (z_lab(dflash_config={"target_layer_ids": [0, 1, 2]}), BrokenFiles, "names no 'mask_token_id'"),
        (z_lab(dflash_config={"mask_token_id": 1, "target_layer_ids": [0, 1]}), BrokenFiles, "fc.weight"),
        (z_lab(dflash_config={"mask_token_id": 1, "target_layer_ids": [0, "a"]}), BrokenFiles, "'a'"),
        (z_lab(dflash_config={"mask_token_id": 1.5}), BrokenFiles, "its mask_token_id is 1.5"),
        (z_lab(dflash_config=3), BrokenFiles, "is damaged"),
        (z_lab(dflash_config={"projector_type": "domino"}), UnsupportedModel, "of the type domino"),
        (z_lab(layer_types=["odd", "full_attention"]), BrokenFiles, "layer_types are"),
        (z_lab(layer_types=SLIDING["layer_types"]), BrokenFiles, "names no 'sliding_window'"),
        (z_lab(hidden_size=48), UnsupportedModel, "48 numbers.*has 120 and 32"),
        (z_lab(vocab_size=99), UnsupportedModel, "99 tokens.*has 120"),
        (z_lab(num_hidden_layers=200), BrokenFiles, "its num_hidden_layers is 200, and it has "),
        (z_lab(block_size="all"), BrokenFiles, "block_size is 'all'"),
        (z_lab(final_logit_softcapping="30"), BrokenFiles, "its final_logit_softcapping is '30'"),
        (z_lab(final_logit_softcapping=0), BrokenFiles, "its final_logit_softcapping is 0"),
        (z_lab(num_hidden_layers=3), BrokenFiles, "Missing"),
        (spec_forge(), BrokenFiles, "markov_head.markov_w1.weight"),
        (deep_spec(markov_head_type="gated"), UnsupportedModel, "markov_head of the type gated"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused_by_name(tmp_path, config, error, message):
    shape = DSPARK if "markov_rank" in config else SHAPE
    folder = publish(tmp_path / "head", random_head(shape), config)
    with pytest.raises(error, match=message):
        LOADERS["dflash"](folder, target(), {})


def test_a_head_with_biases_of_attention_has_them_in_its_layers(tmp_path):
    bias = mx.arange(32.0)

    def add(tensors: Tensors) -> None:
        tensors["layers.1.self_attn.o_proj.bias"] = bias

    folder = edit_tensors(publish(tmp_path / "head", random_head(SHAPE), z_lab(attention_bias=True)), add)
    assert mx.array_equal(loaded(folder).head.layers[1].self_attn.o_proj.bias, bias)


@pytest.mark.parametrize("made", [None, "x", {}, {"proposal_methods": [3]}, {"proposal_methods": []}])
def test_a_dspark_head_of_speculators_that_says_no_number_of_drafts_drafts_one_less(tmp_path, made):
    config = speculators_before_anchors(made)
    assert loaded(publish(tmp_path / "head", random_head(DSPARK), config)).candidate.limit == BLOCK - 1


@pytest.mark.parametrize("named", [{}, {"target_layer_ids": []}])
def test_layers_that_are_not_named_are_those_of_z_lab_s_code(tmp_path, named):
    config = z_lab(dflash_config={"mask_token_id": MASK, **named})
    head = random_head(replace(SHAPE, taps=(1, 1)))
    assert LOADERS["dflash"](publish(tmp_path / "head", head, config), target(), {}).taps == (1, 1)
    assert _taps({}, named, 5, 36) == (1, 9, 17, 25, 33), "as the head published for Qwen3-8B names them"
    assert _taps({}, named, 1, 36) == (18,)
