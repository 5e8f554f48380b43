"""A drafter that needs its target, pulled beside it: its repository holds no tokenizer."""

from pathlib import Path

import pytest
from mlx_lm.utils import load_model

from mlx_spec import Options
from mlx_spec.training.start import eagle_head
from models.errors import BadChoice
from models.load.eagle import save_eagle
from models.load.engine import load
from models.pairs.installed import find_folder, installed
from models.pairs.pair import PairSpec, Source
from models.training.kinds import eagle_shape
from tests.models.hub.pulling import SPEC, last
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of

HEADED = PairSpec("headed", Source("org/target"), Source("org/head"))


@pytest.fixture
def head(hub: HubServer, home: Path) -> Path:
    """What a training would upload."""
    target, config = load_model(home / "made" / "target")
    folder = home / "head"
    folder.mkdir()
    save_eagle(folder, eagle_head(target, eagle_shape(config, target, range(100))), {})
    hub.models["org/head"] = HostedModel(files_of(folder))
    return folder


def test_a_head_is_pulled_beside_its_target_and_drafts(hub: HubServer, head: Path) -> None:
    assert last(HEADED).phase == "done"
    assert installed(HEADED)
    loaded = load(HEADED)
    assert loaded.spec == HEADED
    assert "eagle" in loaded.engine.drafter_names and "model" not in loaded.engine.drafter_names
    rounds = list(loaded.engine.generate([1, 2, 3], Options(max_tokens=20, drafter="eagle", draft_length=2)))
    assert {read.drafter for read in rounds} >= {"eagle"}


def test_a_cut_head_is_fetched_again(hub: HubServer, head: Path) -> None:
    last(HEADED)
    folder = find_folder(Source("org/head"))
    assert folder is not None
    weights = (folder / "model.safetensors").resolve()
    weights.write_bytes(weights.read_bytes()[:-4])
    assert not installed(HEADED)
    assert last(HEADED).phase == "done" and installed(HEADED)


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_head_is_no_target(hub: HubServer, head: Path) -> None:
    with pytest.raises(BadChoice, match=r"holds a drafter \(eagle\) and no model"):
        last(PairSpec("head", Source("org/head"), None))
    with pytest.raises(BadChoice, match=r"holds a drafter \(eagle\) and no model.*--drafter"):
        load(PairSpec("head", Source(str(head)), None))


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_model_without_a_tokenizer_is_refused_before_its_weights_come(hub: HubServer) -> None:
    del hub.models["org/draft"].files["tokenizer.json"]
    with pytest.raises(BadChoice, match="org/draft holds no tokenizer.json"):
        last(SPEC)
    assert "model.safetensors" not in hub.downloads()
