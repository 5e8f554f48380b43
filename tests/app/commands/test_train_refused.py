"""`train`: what is refused before anything is read."""

import json
import shutil
from pathlib import Path

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten

from models.paths import own_drafters_folder
from models.training.layer_skip import LayerSearch
from tests.app.read_only import read_only
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair
from tests.mlx_spec.model_types import BY_FIELD, build, configuration
from tests.models.tiny_models import make_model, make_tokenizer


def test_a_tokenizer_that_needs_its_own_code_is_refused(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    target = shutil.copytree(tiny_pair.target, tmp_path / "target")
    own = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}
    (target / "tokenizer_config.json").write_text(json.dumps(own))
    err = run("train", target, "--dry-run", code=2).err
    assert "code from model repositories is never executed here" in err


def test_a_wrong_address_of_the_hub_is_named(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://[")
    assert "HF_ENDPOINT is 'http://['" in run("train", tiny_pair.target, "--dry-run", code=3).err


def test_a_model_of_fewer_tokens_than_its_tokenizer_has_is_refused(tmp_path: Path, run: Cli) -> None:
    make_tokenizer(make_model(tmp_path, vocab_size=100))
    err = run("train", tmp_path, "--dry-run", code=3).err
    assert "has a token 308, and its model a vocabulary of 100. Use the tokenizer" in err


def test_a_target_of_one_layer_can_have_a_head_but_no_smaller_likeness(tmp_path: Path, run: Cli) -> None:
    make_tokenizer(make_model(tmp_path, num_hidden_layers=1))
    train = ["train", str(tmp_path), "--dry-run", "--kind"]
    assert "the drafter learns" in run(*train, "eagle").out
    assert "--layers is 1; the target has 1: no smaller model is like it" in run(*train, "model", code=2).err
    assert "has one layer, which cannot be left out." in run(*train, "layer_skip", code=2).err


@pytest.mark.parametrize("kind", ["eagle", "layer_skip"])
def test_a_place_that_cannot_be_written_is_named_before_hours_of_work(
    kind: str, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(LayerSearch, "run", lambda *_: pytest.fail("it began"))
    train = ["train", str(tiny_pair.target), "--kind", kind]
    wanted = f"The drafter would go to {own_drafters_folder() / tiny_pair.target.name / kind}: "
    with read_only(own_drafters_folder().parent):
        assert f"{wanted}Read-only file system. MLX_SPEC_HOME names" in run(*train, code=3).err
    (own_drafters_folder() / tiny_pair.target.name).mkdir(parents=True)
    with read_only(own_drafters_folder().parent):
        assert f"{wanted}no permission to write there." in run(*train, code=3).err


@pytest.mark.parametrize(
    ("type_", "kind", "wanted"),
    [
        ("llama4", "eagle", "mlx-lm cannot write several texts at once with this model. Give it --texts"),
        ("llama4", "model --dry-run", "mlx-lm cannot write several texts at once with this model."),
        ("llama4", "layer_skip", "mlx-lm cannot write several texts at once with this model."),
        ("hunyuan", "layer_skip --dry-run", "No layer of hunyuan can be left out."),
        ("gemma3n", "eagle --dry-run", "does not give one state after each layer"),
    ],
)
def test_a_target_that_cannot_write_or_skip_is_refused(
    type_: str, kind: str, wanted: str, tmp_path: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tokenizer(tmp_path)
    monkeypatch.setitem(BY_FIELD, "vocab_size", 384)
    (tmp_path / "config.json").write_text(json.dumps(configuration(type_)))
    weights = dict(tree_flatten(build(type_).parameters()))
    mx.save_safetensors(str(tmp_path / "model.safetensors"), weights)  # type: ignore[arg-type]
    assert wanted in run("train", tmp_path, "--kind", *kind.split(), code=2).err
