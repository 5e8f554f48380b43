"""EAGLE-3 heads in published formats draft by their equations, with the acceptance of the original head.

A wrong loader only costs acceptance. So every format is compared with `equations.py`, which counts layers as
the format does, and with the acceptance of the head before it was saved in that format.
"""

from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten, tree_map

from mlx_spec import Engine, UnsupportedModel
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.eagle_head import EagleHead
from models.errors import BrokenFiles
from models.load.drafters import LOADERS
from models.load.heads import LAYER_SIZES, layer_args
from models.pairs.folder import check_drafter
from tests.mlx_spec.drafters.learnt import LEARNT, LENGTH, PROMPT, model
from tests.mlx_spec.equations import Eagle, Sizes, Weights, arrays, states
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import KNOWN, head_for, target
from tests.mlx_spec.proposals import Proposed, proposed
from tests.mlx_spec.tiny_models import VOCAB, settled
from tests.models.drafter_folders import Tensors, edit_config, edit_tensors
from tests.models.load.published_eagle import AUX, publish

SIZES = Sizes(heads=4, kv_heads=2)
ENTERED = {
    "SafeAILab": [2, 2, 1],  # 2, L / 2, L - 3 of 4 layers
    "SGLang": [1, 2, 3],
    "speculators": [1, 2, 3],
    "DeepSpec": [1, 2, 3],
}
"""By format, the layers whose inputs are read."""
DEPTH = 3


@pytest.fixture(scope="module")
def head() -> EagleHead:
    return model(LEARNT["eagle"])  # type: ignore[return-value]


@pytest.fixture(scope="module")
def of_target() -> Weights:
    return arrays(dict(tree_flatten(target().parameters())))  # type: ignore[arg-type]


def loaded(folder: Path) -> EagleDrafter:
    assert check_drafter(folder) == "eagle"
    return LOADERS["eagle"](folder, target(), {})


def engine_with(drafter: EagleDrafter) -> Engine:
    return Engine(target(), [drafter], context_limit=400)


def by_hand(folder: Path, of_target: Weights, **flags: bool) -> Eagle:
    file: dict[str, mx.array] = mx.load(str(folder / "model.safetensors"))  # type: ignore[assignment]
    return Eagle(arrays(file), of_target["model.embed_tokens.weight"], SIZES, **flags)


def is_right(eagle: Eagle, of_target: Weights, entered: list[int], one: Proposed) -> bool:
    found = states(of_target, one.before[:-1], 4, SIZES)
    depth = len(one.read.drafted)
    wanted = eagle.draft([found[i] for i in entered], one.before, depth)
    return one.is_near(*wanted, known=None if len(eagle.w["lm_head.weight"]) == VOCAB else KNOWN)


VARIANTS: list[tuple[str, dict[str, bool]]] = [
    ("SafeAILab", {}),
    ("SGLang", {}),
    ("SGLang", {"fc_norm": True, "norm_output": True}),  # 3.1
    ("speculators", {}),
    ("speculators", {"norm_before_residual": True}),
    ("speculators", {"norm_before_fc": True, "norm_before_residual": True}),
    ("speculators", {"fc_norm": True, "norm_output": True}),
    ("speculators", {"qk_norm": True, "norm_before_residual": True}),
    ("DeepSpec", {"qk_norm": True}),
]


def variant(flags: dict[str, bool], few: bool) -> EagleHead:
    """A random head with these norms; no norm weight is 1."""
    shape, keys = head_for(target()).shape, iter(mx.random.split(mx.random.key(8), 40))
    head = EagleHead(
        replace(shape, tokens=KNOWN if few else shape.tokens, **{"fc_norm": False, **flags}), target()
    )
    settled(head, 5, spread=0.6)
    head.update(tree_map(lambda x: x + 0.15 * mx.random.normal(x.shape, key=next(keys)), head.parameters()))
    return head


@pytest.mark.parametrize(
    ("which", "few"),
    grid(range(len(VARIANTS)), (True, False), usual=[(i, i % 2 == 0) for i in range(len(VARIANTS))]),
)
def test_its_drafts_are_those_of_its_equations(tmp_path, of_target, which, few):
    packaging, flags = VARIANTS[which]
    folder = publish(tmp_path / "head", variant(flags, few), packaging, **flags)
    named = {flag: flags.get(flag, False) for flag in ("norm_before_residual", "norm_output")}
    eagle, drafter = by_hand(folder, of_target, **named), loaded(folder)
    assert drafter.name == "eagle" and drafter.taps == tuple(i - 1 for i in ENTERED[packaging])
    rounds = proposed(engine_with(drafter), PROMPT, "eagle", max_tokens=7, draft_length=DEPTH)
    assert len(rounds) > 3
    assert all(is_right(eagle, of_target, ENTERED[packaging], one) for one in rounds)
    for flag in named:  # only here the flag has an effect
        other = by_hand(folder, of_target, **{**named, flag: not named[flag]})
        assert not all(is_right(other, of_target, ENTERED[packaging], one) for one in rounds)


def test_biases_of_some_layers_are_added_where_the_file_has_them(tmp_path, of_target):
    def add(tensors: Tensors) -> None:
        for i, name in enumerate("qkv"):
            at = f"midlayer.self_attn.{name}_proj"
            tensors[f"{at}.bias"] = mx.random.normal((len(tensors[f"{at}.weight"]),), key=mx.random.key(i))

    folder = edit_tensors(publish(tmp_path / "head", variant({}, few=False), "SGLang"), add)
    rounds = proposed(engine_with(loaded(folder)), PROMPT, "eagle", max_tokens=7, draft_length=DEPTH)
    eagle = by_hand(folder, of_target)
    assert all(is_right(eagle, of_target, ENTERED["SGLang"], one) for one in rounds)


def rates(folder: Path) -> list[float]:
    rounds = proposed(engine_with(loaded(folder)), PROMPT, "eagle", max_tokens=LENGTH, draft_length=DEPTH)
    return [float(np.mean([one.read.accepted > i for one in rounds])) for i in range(DEPTH)]


@pytest.mark.parametrize(
    ("packaging", "key", "ids"),
    [("speculators", AUX, [2, 3, 4]), ("DeepSpec", "target_layer_ids", [1, 2, 3])],
)
def test_a_trained_head_is_often_right_and_not_where_layers_are_counted_the_other_way(
    tmp_path, head, packaging, key, ids
):
    folder = publish(tmp_path / "head", head, packaging)
    assert min(rates(folder)) > 0.9
    assert rates(edit_config(folder, **{key: ids}))[-1] < 0.5


@pytest.mark.parametrize(
    ("packaging", "changes", "error", "message"),
    [
        ("speculators", {"embed_requires_grad": True}, UnsupportedModel, "its own embeddings"),
        ("speculators", {AUX: [1, "two"]}, BrokenFiles, r"layer_ids are \[1, 'two'\]"),
        ("speculators", {"transformer_layer_config": 3}, BrokenFiles, "is damaged"),
        ("speculators", {"transformer_layer_config": {"model_type": "odd"}}, BrokenFiles, "odd"),
        ("DeepSpec", {"num_hidden_layers": 2}, UnsupportedModel, "has 2 layers; only heads of one"),
        ("DeepSpec", {"target_layer_ids": [0, 1]}, BrokenFiles, "fc.weight"),
        ("SGLang", {"layer_types": ["sliding_attention"]}, UnsupportedModel, "a sliding window"),
        ("SGLang", {"hidden_act": "gelu"}, UnsupportedModel, "activation is gelu; only silu is supported"),
        ("SGLang", {"target_hidden_size": 48}, UnsupportedModel, "48 numbers.*has 120 and 32"),
        ("SafeAILab", {"vocab_size": 99}, BrokenFiles, "names no 'd2t'"),
    ],
)
def test_what_is_not_read_is_refused_by_name(tmp_path, packaging, changes, error, message):
    folder = edit_config(publish(tmp_path / "head", variant({}, few=False), packaging), **changes)
    with pytest.raises(error, match=message):
        LOADERS["eagle"](folder, target(), {})


@pytest.mark.parametrize(
    ("packaging", "changes"),
    [
        ("SGLang", {"eagle_config": {AUX: []}}),
        ("speculators", {AUX: []}),
        ("DeepSpec", {"target_layer_ids": []}),
    ],
)
def test_an_empty_list_of_layers_counts_as_not_there(tmp_path, packaging, changes):
    folder = edit_config(publish(tmp_path / "head", variant({}, few=False), packaging), **changes)
    assert loaded(folder).taps == tuple(i - 1 for i in ENTERED["SafeAILab"])


def test_layers_named_outside_eagle_config_are_counted_by_their_inputs_as_in_vllm(tmp_path):
    folder = publish(tmp_path / "head", variant({}, few=False), "SafeAILab")
    assert loaded(edit_config(folder, **{AUX: [1, 2, 4]})).taps == (0, 1, 3)


@pytest.mark.parametrize(("kind", "scales"), [("default", False), ("llama3", True)])
def test_a_rotation_is_read_in_the_format_of_transformers_5_too(kind: str, scales: bool) -> None:
    named = {"rope_theta": 5e5, "rope_type": kind, "factor": 8.0}
    sizes = {**dict.fromkeys(LAYER_SIZES, 8), "num_hidden_layers": 1}
    args = layer_args({**sizes, "rms_norm_eps": 1e-5, "rope_parameters": named}, {"fc.weight": mx.zeros(1)})
    scaling = args["rope_scaling"]
    assert args["rope_theta"] == 5e5 and (scaling is not None and scaling["factor"] == 8.0) == scales
