"""A drafter that needs its target, pulled beside it: its repository holds no tokenizer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import gemma4_text
from mlx_lm.utils import load_model

from app.cli import main
from models.errors import BadChoice
from models.load.eagle import AUX
from models.load.engine import load
from models.load.translation import bridged
from models.pairs.installed import installed
from models.pairs.pair import PairSpec, Source
from models.training.kinds import KINDS
from tests.mlx_spec import assistant_heads
from tests.mlx_spec.tiny_models import settled
from tests.models.drafter_folders import (
    LAYER_SKIP,
    Tensors,
    edit_config,
    make_drafter,
    make_eagle,
    write_folder,
)
from tests.models.hub.pulling import check, check_drafts, last
from tests.models.hub.test_pulled_mtp import qwen
from tests.models.hub_server import HostedModel, HubServer
from tests.models.load import test_gemma_dspark
from tests.models.load.test_assistant import publish as publish_assistant
from tests.models.load.test_mtp import head_for, original, publish
from tests.models.tiny_models import files_of, make_tokenizer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")
PAIR = ["--target", "org/target", "--draft", "org/head"]
HEADED = PairSpec("headed", Source("org/target"), Source("org/head"))


@pytest.fixture
def target(hub: HubServer, home: Path) -> tuple[nn.Module, dict[str, Any]]:
    """org/target and its config."""
    return load_model(home / "made" / "target")


@pytest.fixture
def head(hub: HubServer, home: Path) -> Path:
    """The folder of org/head, an EAGLE-3 head."""
    folder = make_eagle(home / "head", home / "made" / "target", range(100))
    hub.models["org/head"] = HostedModel(files_of(folder))
    return folder


def check_pulled(hub: HubServer, folder: Path, name: str) -> None:
    hub.models["org/head"] = HostedModel(files_of(folder))
    assert main(["pull", *PAIR]) == 0 and installed(HEADED)
    check_drafts(HEADED, name)
    assert bridged(HEADED) == (), "a head has no tokenizer"


def write(folder: Path, module: nn.Module, config: dict[str, Any]) -> Path:
    weights = {str(n).replace("deeper.0.", "layers.1."): x for n, x in tree_flatten(module.parameters())}
    return write_folder(folder, config, weights)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_as_a_training_makes_it_is_pulled_and_drafts(
    hub: HubServer, home: Path, target: tuple[nn.Module, dict[str, Any]], kind: str
) -> None:
    model, config = target
    made = KINDS[kind](model, config)
    folder = home / "head"
    folder.mkdir()
    made.save(folder, made.learner(range(100)).module, {}, None)
    check_pulled(hub, folder, kind)


def test_medusa_heads_are_pulled_in_the_file_that_their_trainers_write(
    hub: HubServer, home: Path, target: tuple[nn.Module, dict[str, Any]]
) -> None:
    made = KINDS["medusa"](*target)
    folder = home / "head"
    folder.mkdir()
    made.save(folder, made.learner(range(100)).module, {}, None)
    (folder / "model.safetensors").rename(folder / "medusa_lm_head.safetensors")
    check_pulled(hub, folder, "medusa")


def test_a_head_as_speculators_publishes_it_is_pulled_and_proved(
    hub: HubServer, home: Path, head: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = json.loads((head / "config.json").read_text())
    inner = {k: x for k, x in config.items() if k not in ("architectures", "eagle_config")}
    aux = {AUX: [layer + 1 for layer in config["eagle_config"][AUX]]}
    named = {"architectures": ["Eagle3DraftModel"], "speculators_model_type": "eagle3", **aux}
    weights: Tensors = mx.load(str(head / "model.safetensors"))  # type: ignore[assignment]
    renamed = {name.replace("midlayer.", "layers.0."): mx.array(x) for name, x in weights.items()}
    write_folder(head, named | {"transformer_layer_config": inner}, renamed)
    hub.models["org/head"] = HostedModel(files_of(head))
    assert main(["pull", *PAIR]) == 0
    assert check(home, *PAIR[2:], "--drafter", "eagle", "--drafter-bits", "8") == 0
    assert check(home, *PAIR[2:], "--drafter-bits", "7") == 2
    assert "--drafter-bits is 7; give 2, 3, 4, 5, 6, 8 or 16." in capfd.readouterr().err


def test_a_layer_for_more_tokens_is_pulled_and_drafts(hub: HubServer, home: Path) -> None:
    model, config = qwen()
    host_target(hub, home, model, config)
    check_pulled(hub, publish(home / "head", head_for(model), original, "qwen3_5"), "mtp")


def host_target(hub: HubServer, home: Path, model: nn.Module, config: dict[str, Any]) -> None:
    """As org/target, with the tests' tokenizer of 384 tokens."""
    make_tokenizer(home / "other")
    hub.models["org/target"] = HostedModel(files_of(write(home / "other", model, config)))


@pytest.mark.parametrize("kind", ["assistant", "dspark"])
def test_what_drafts_for_gemma_is_pulled_and_drafts(hub: HubServer, home: Path, kind: str) -> None:
    args = replace(assistant_heads.TARGET, vocab_size=384, vocab_size_per_layer_input=384)
    model = settled(gemma4_text.Model(args), 1)
    host_target(hub, home, model, vars(args))
    if kind == "assistant":
        shape = replace(assistant_heads.SHAPE, args=replace(assistant_heads.ARGS, vocab_size=384))
        folder = publish_assistant(home / "head", assistant_heads.head_for(model, shape))
    else:
        block = test_gemma_dspark.head_for(own_values=False, model=model)
        folder = test_gemma_dspark.publish(home / "head", block, own_values=False)
    check_pulled(hub, folder, kind)


def test_a_target_is_pulled_left_early_by_its_own_layers_and_is_proved(hub: HubServer, home: Path) -> None:
    """LayerSkip's checkpoints are ordinary targets; the layers to keep are in a folder or a repository."""
    check_pulled(hub, make_drafter(home / "early", LAYER_SKIP), "layer_skip")
    pair = PairSpec("early", Source("org/target"), None, drafters=(Source(str(home / "early")),))
    check_drafts(pair, "layer_skip")
    assert check(home, "--draft", "none", "--drafter", str(home / "early")) == 0


@pytest.mark.parametrize("sizes", [{"vocab_size": 500}, {"hidden_size": 48}, {"target_hidden_size": 48}])
def test_a_head_of_another_target_is_refused_before_any_weights(
    hub: HubServer, head: Path, sizes: dict[str, int]
) -> None:
    hub.models["org/head"] = HostedModel(files_of(edit_config(head, **{"target_hidden_size": None, **sizes})))
    with pytest.raises(BadChoice, match=r"org/head was made for another target, with (500|48) \w+"):
        last(HEADED)
    assert "model.safetensors" not in hub.downloads()


def test_a_draft_model_without_weights_is_refused(hub: HubServer, home: Path) -> None:
    hub.models["org/head"] = HostedModel({"config.json": b'{"model_type": "llama"}'})
    with pytest.raises(BadChoice, match=r"org/head holds no model\*\.safetensors; only safetensors weights"):
        last(HEADED)


def test_a_head_is_no_target(hub: HubServer, head: Path) -> None:
    with pytest.raises(BadChoice, match=r"^org/head holds a drafter \(eagle\), not a model"):
        last(PairSpec("head", Source("org/head"), None))
    with pytest.raises(BadChoice, match=r"holds a drafter \(eagle\), not a model.*with --draft\."):
        load(PairSpec("head", Source(str(head)), None))
