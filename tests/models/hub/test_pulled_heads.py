"""A drafter that needs its target, pulled beside it: its repository holds no tokenizer."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import gemma4_text, qwen3
from mlx_lm.models.qwen3_5 import Model, ModelArgs
from mlx_lm.utils import load_model

from app.cli import main
from mlx_spec import Options
from mlx_spec.drafters.dflash_head import DFlashHead, DFlashShape
from mlx_spec.drafters.peagle_head import PEagleHead
from mlx_spec.training.start import eagle_head
from models.errors import BadChoice
from models.load.eagle import AUX, save_eagle
from models.load.engine import load
from models.pairs.installed import find_folder, installed
from models.pairs.pair import PairSpec, Source
from models.training.kinds import KINDS, eagle_shape
from tests.mlx_spec import assistant_heads
from tests.mlx_spec.model_types import configuration
from tests.mlx_spec.tiny_models import settled
from tests.models.hub.pulling import SPEC, check, last
from tests.models.hub_server import HostedModel, HubServer
from tests.models.load import test_gemma_dspark
from tests.models.load.test_assistant import publish as publish_assistant
from tests.models.load.test_mtp import head_for, original, publish
from tests.models.tiny_models import files_of, make_tokenizer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")
PAIR = ["--target", "org/target", "--draft", "org/head"]
HEADED = PairSpec("headed", Source("org/target"), Source("org/head"))


@pytest.fixture
def head(hub: HubServer, home: Path) -> Path:
    """A repository with an EAGLE-3 head, as `mlx-spec train` saves it."""
    target, config = load_model(home / "made" / "target")
    folder = home / "head"
    folder.mkdir()
    save_eagle(folder, eagle_head(target, eagle_shape(config, target, range(100))), {})
    hub.models["org/head"] = HostedModel(files_of(folder))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_as_a_training_makes_it_is_pulled_beside_its_target_drafts_and_is_proved(
    hub: HubServer, home: Path, kind: str
) -> None:
    target, config = load_model(home / "made" / "target")
    made = KINDS[kind](config)
    folder = home / "head"
    folder.mkdir()
    made.save(folder, made.learner(target, range(100)).module, {}, None)
    hub.models["org/head"] = HostedModel(files_of(folder))
    assert last(HEADED).phase == "done"
    assert installed(HEADED)
    loaded = load(HEADED)
    assert loaded.spec == HEADED
    assert kind in loaded.engine.drafter_names and "model" not in loaded.engine.drafter_names
    rounds = list(loaded.engine.generate([1, 2, 3], Options(max_tokens=20, drafter=kind, draft_length=2)))
    assert {read.drafter for read in rounds} >= {kind}
    assert check(home, *PAIR[2:], "--drafter", kind) == 0


def test_a_head_as_speculators_publishes_it_is_pulled_and_proved(
    hub: HubServer, home: Path, head: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = json.loads((head / "config.json").read_text())
    inner = {k: x for k, x in config.items() if k not in ("architectures", "eagle_config")}
    aux = {AUX: [layer + 1 for layer in config["eagle_config"][AUX]]}
    named = {"architectures": ["Eagle3DraftModel"], "speculators_model_type": "eagle3", **aux}
    (head / "config.json").write_text(json.dumps(named | {"transformer_layer_config": inner}))
    weights: dict[str, mx.array] = mx.load(str(head / "model.safetensors"))  # type: ignore[assignment]
    renamed = {name.replace("midlayer.", "layers.0."): mx.array(x) for name, x in weights.items()}
    mx.save_safetensors(str(head / "model.safetensors"), renamed)
    hub.models["org/head"] = HostedModel(files_of(head))
    assert main(["pull", *PAIR]) == 0
    assert check(home, *PAIR[2:], "--drafter", "eagle", "--drafter-bits", "8") == 0
    assert check(home, *PAIR[2:], "--drafter-bits", "7") == 2
    assert "--drafter-bits is 7; give 2, 3, 4, 5, 6, 8 or 16." in capfd.readouterr().err


def test_a_head_that_drafts_at_once_is_pulled_drafts_under_its_own_name_and_is_proved(
    hub: HubServer, home: Path
) -> None:
    target, config = load_model(home / "made" / "target")
    shape = eagle_shape(config, target, range(384))
    shape = replace(shape, args=replace(shape.args, num_hidden_layers=2))
    head: Any = settled(PEagleHead(shape, target, 383, embeds=True), 5)
    heads, kv_heads, dim = shape.args.num_attention_heads, shape.args.num_key_value_heads, shape.args.head_dim
    own = {
        "hidden_size": 32, "intermediate_size": shape.args.intermediate_size, "num_hidden_layers": 2,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": dim, "vocab_size": 384,
        "rms_norm_eps": shape.args.rms_norm_eps, "draft_vocab_size": 384, "ptd_token_id": 383,
        "fc_norm": shape.fc_norm, "eagle_config": {AUX: list(shape.taps)},
    }  # fmt: skip
    folder = home / "head"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(own | {"architectures": ["LlamaForCausalLMEagle3"]}))
    weights = {str(n).replace("deeper.0.", "layers.1."): x for n, x in tree_flatten(head.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), weights)  # type: ignore[arg-type]
    hub.models["org/head"] = HostedModel(files_of(folder))
    check_pulled(home, "peagle")


@pytest.mark.parametrize("kind", ["dflash", pytest.param("dspark", marks=pytest.mark.slow)])
def test_a_block_drafter_is_pulled_drafts_under_its_own_name_and_is_proved(
    hub: HubServer, home: Path, kind: str
) -> None:
    target, config = load_model(home / "made" / "target")
    args = qwen3.ModelArgs("qwen3", 32, 1, 64, 2, 1e-5, 384, 2, 512, 16, False, 10000.0)
    shape = DFlashShape(
        args, (0, 1), tuple(range(384)), mask=383, block=5, markov_rank=8 * (kind == "dspark")
    )
    head = settled(DFlashHead(shape, target), 5)
    own = {"mask_token_id": 383, "target_layer_ids": [0, 1], "projector_type": kind}
    named = {"architectures": ["DFlashDraftModel"], "block_size": 5, "dflash_config": own}
    folder = home / "head"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(asdict(args) | named))
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(head.parameters())))
    hub.models["org/head"] = HostedModel(files_of(folder))
    check_pulled(home, kind)


def test_a_layer_for_more_tokens_is_pulled_drafts_under_its_own_name_and_is_proved(
    hub: HubServer, home: Path
) -> None:
    config = configuration("qwen3_5")
    config["text_config"] |= {"vocab_size": 384, "max_position_embeddings": 512}
    target = settled(Model(ModelArgs.from_dict(config)), 1)
    folder = write_target(home / "mtp_target", target, config)
    head = publish(home / "head", head_for(target), original, "qwen3_5")
    hub.models |= {"org/target": HostedModel(files_of(folder)), "org/head": HostedModel(files_of(head))}
    check_pulled(home, "mtp")


def host_gemma(hub: HubServer, home: Path) -> Any:
    """A Gemma 4 as org/target."""
    args = replace(assistant_heads.TARGET, vocab_size=384, vocab_size_per_layer_input=384)
    target = settled(gemma4_text.Model(args), 1)
    hub.models["org/target"] = HostedModel(files_of(write_target(home / "gemma", target, vars(args))))
    return target


def test_an_assistant_is_pulled_drafts_under_its_own_name_and_is_proved(hub: HubServer, home: Path) -> None:
    args = replace(assistant_heads.ARGS, vocab_size=384)
    head = assistant_heads.head_for(host_gemma(hub, home), replace(assistant_heads.SHAPE, args=args))
    hub.models["org/head"] = HostedModel(files_of(publish_assistant(home / "head", head)))
    check_pulled(home, "assistant")


def test_a_block_for_gemma_is_pulled_drafts_under_its_own_name_and_is_proved(
    hub: HubServer, home: Path
) -> None:
    head = test_gemma_dspark.head_for(own_values=False, model=host_gemma(hub, home))
    folder = test_gemma_dspark.publish(home / "head", head, own_values=False)
    hub.models["org/head"] = HostedModel(files_of(folder))
    check_pulled(home, "dspark")


def test_a_target_is_pulled_left_early_by_its_own_layers_and_is_proved(hub: HubServer, home: Path) -> None:
    """LayerSkip's checkpoints are ordinary targets; the layers to keep are in a folder of the user's."""
    assert main(["pull", "--target", "org/target", "--draft", "none"]) == 0
    (home / "early").mkdir()
    (home / "early" / "config.json").write_text('{"model_type": "layer_skip", "layers": [0]}')
    pair = PairSpec("early", Source("org/target"), None, drafters=(Source(str(home / "early")),))
    options = Options(max_tokens=20, drafter="layer_skip", draft_length=3)
    rounds = load(pair).engine.generate([1, 2, 3], options)
    assert {read.drafter for read in rounds} >= {"layer_skip"}
    assert check(home, "--draft", "none", "--drafter", str(home / "early")) == 0
    (home / "early" / "config.json").write_text('{"model_type": "layer_skip", "layers": [0, 1, 2]}')
    with pytest.raises(BadChoice, match=r"does not fit this target.*keeps layers \[0, 1, 2\].*that has 2"):
        load(pair)


def check_pulled(home: Path, name: str) -> None:
    assert main(["pull", *PAIR]) == 0
    engine = load(HEADED).engine
    assert name in engine.drafter_names
    rounds = engine.generate([1, 2, 3], Options(max_tokens=20, drafter=name, draft_length=3))
    assert {read.drafter for read in rounds} >= {name}
    assert check(home, *PAIR[2:], "--drafter", name) == 0


def write_target(folder: Path, target: nn.Module, config: dict[str, Any]) -> Path:
    """A model with the tests' tokenizer of 384 tokens."""
    make_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps(config))
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(target.parameters())))
    return folder


def test_a_cut_head_is_fetched_again(hub: HubServer, head: Path) -> None:
    last(HEADED)
    folder = find_folder(Source("org/head"))
    assert folder is not None
    weights = (folder / "model.safetensors").resolve()
    weights.write_bytes(weights.read_bytes()[:-4])
    assert not installed(HEADED)
    assert last(HEADED).phase == "done" and installed(HEADED)


def test_a_drafter_of_an_unknown_family_is_refused_before_its_weights_come(hub: HubServer) -> None:
    hub.models["org/draft"].files["config.json"] = b'{"speculators_model_type": "hydra"}'
    with pytest.raises(BadChoice, match="org/draft holds a drafter of the family hydra, which this version"):
        last(SPEC)
    assert "model.safetensors" not in hub.downloads()


def test_a_head_is_no_target(hub: HubServer, head: Path) -> None:
    with pytest.raises(BadChoice, match=r"holds a drafter \(eagle\) and no model"):
        last(PairSpec("head", Source("org/head"), None))
    with pytest.raises(BadChoice, match=r"holds a drafter \(eagle\) and no model.*--drafter"):
        load(PairSpec("head", Source(str(head)), None))


def test_a_model_without_a_tokenizer_is_refused_before_its_weights_come(hub: HubServer) -> None:
    del hub.models["org/draft"].files["tokenizer.json"]
    with pytest.raises(BadChoice, match="org/draft holds no tokenizer.json"):
        last(SPEC)
    assert "model.safetensors" not in hub.downloads()
