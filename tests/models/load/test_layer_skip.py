"""Which layers to keep is written and read again, and a damaged file is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlx_spec import UnsupportedModel
from mlx_spec.drafters.layer_skip import Skipped
from mlx_spec.training.layer_search import Found
from models.errors import BrokenFiles
from models.load.layer_skip import load_layer_skip, save_layer_skip
from tests.mlx_spec.tiny_models import tiny_llama

CONFIG = {"max_position_embeddings": 300}
FOUND = Found(
    layers=(0, 2), acceptance=(0.75, 0.5), loss=1.0, draft_length=2, gain=1.25, ceiling=2.0
)  # fmt: skip


def test_what_was_found_is_a_drafter_again(tmp_path: Path):
    save_layer_skip(tmp_path / "new" / "layer_skip", FOUND, "some-pair")
    target = tiny_llama(0, layers=3)
    drafter = load_layer_skip(tmp_path / "new" / "layer_skip", target, CONFIG)
    assert drafter.name == "layer_skip" and drafter.candidate.prior == 0.75
    view: Any = drafter.cached.model
    assert [isinstance(layer, Skipped) for layer in view.layers] == [False, True, False]
    config = json.loads((tmp_path / "new" / "layer_skip" / "config.json").read_text())
    assert config["model_type"] == "layer_skip" and config["mlx_spec"]["target"] == "some-pair"


@pytest.mark.parametrize(
    "damage",
    [
        {"layers": "0, 2"},
        {"layers": None},
        {"acceptance": []},
        {"acceptance": [1.5]},
        {"acceptance": "high"},
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, damage: dict):
    save_layer_skip(tmp_path, FOUND, "some-pair")
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | damage))
    with pytest.raises(BrokenFiles, match="does not tell which layers to keep"):
        load_layer_skip(tmp_path, tiny_llama(0, layers=3), CONFIG)


def test_layers_of_another_target_are_refused(tmp_path: Path):
    save_layer_skip(tmp_path, FOUND, "some-pair")
    with pytest.raises(UnsupportedModel, match=r"keeps layers \[0, 2\] of a target that has 2"):
        load_layer_skip(tmp_path, tiny_llama(0), CONFIG)
