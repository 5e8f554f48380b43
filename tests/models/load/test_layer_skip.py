"""The layers to keep are saved, loaded, and draft; `test_refused_drafters.py` has damaged files."""

import json
import os
from errno import ENOSPC
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec import Engine, Options
from mlx_spec.drafters.layer_skip import Skipped, with_layers
from mlx_spec.training.layer_search import Found
from models.load.layer_skip import load_layer_skip, save_layer_skip
from models.pairs.folder import check_drafter
from tests.mlx_spec.tiny_models import fitted, prompt, tiny_llama

CONFIG = {"max_position_embeddings": 300}
FOUND = Found(layers=(0, 2), acceptance=(0.75, 0.5), loss=1.0, draft_length=2, gain=1.25, ceiling=2.0)


def test_what_was_found_is_a_drafter_again(tmp_path: Path):
    save_layer_skip(tmp_path / "new" / "layer_skip", FOUND, "some-pair", {})
    target = tiny_llama(0, layers=3)
    drafter = load_layer_skip(tmp_path / "new" / "layer_skip", target, CONFIG)
    assert drafter.name == "layer_skip" and drafter.candidate.prior == 0.75
    view: Any = drafter.cached.model
    assert [isinstance(layer, Skipped) for layer in view.layers] == [False, True, False]
    config = json.loads((tmp_path / "new" / "layer_skip" / "config.json").read_text())
    assert config["model_type"] == "layer_skip" and config["mlx_spec"]["target"] == "some-pair"


def test_what_cannot_be_written_leaves_no_folder_and_what_was_there(tmp_path: Path, monkeypatch: Any):
    def full(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    save_layer_skip(tmp_path / "old", FOUND, "some-pair", {})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        patch.setattr(os, "fsync", full)
        for name in ("old", "new"):
            with pytest.raises(OSError, match="No space"):
                save_layer_skip(tmp_path / name, FOUND, "another", {})
    assert [each.name for each in tmp_path.iterdir()] == ["old"]
    assert "some-pair" in (tmp_path / "old" / "config.json").read_text()


@cache
def trained() -> nn.Module:
    """As LayerSkip's checkpoints: trained to predict after two of its four layers, too."""
    target = tiny_llama(0, layers=4)
    ids, exits = mx.array([prompt(24, 0)]), (target, with_layers(target, range(2)))

    def loss() -> mx.array:
        found = [nn.losses.cross_entropy(each(ids[:, :-1]), ids[:, 1:], reduction="mean") for each in exits]
        return mx.stack(found).sum()

    fitted(target, loss, 15, 1.5e-2)
    return target


def test_a_target_trained_to_be_left_early_is_often_drafted_right_by_its_first_layers_alone(
    tmp_path: Path,
) -> None:
    def accepted(layers: list[int]) -> list[float]:
        """The acceptance of the first and the second drafted token."""
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "layer_skip", "layers": layers}))
        assert check_drafter(tmp_path) == "layer_skip"
        drafter = load_layer_skip(tmp_path, trained(), CONFIG)
        engine = Engine(trained(), [drafter], context_limit=300)
        options = Options(max_tokens=16, drafter="layer_skip", draft_length=2)
        rounds = [r for r in engine.generate(prompt(24, 0)[:8], options) if r.drafted]
        return [sum(r.accepted >= place for r in rounds) / len(rounds) for place in (1, 2)]

    first, second = accepted([0, 1])
    assert first > 0.8 and second > 0.7, (first, second)
    assert accepted([2, 3])[0] < first - 0.4, "the last layers alone know nothing of the text"
