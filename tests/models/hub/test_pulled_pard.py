"""A PARD draft model, as amd publishes them: pulled, recognized by its config, refused if it does not fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from models.errors import BadChoice
from models.pairs.installed import installed
from tests.models.hub.pulling import SPEC, check_drafts, last
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_model, make_pair, make_tokenizer

MASK = 383


@pytest.fixture
def draft(hub: HubServer, home: Path) -> Path:
    folder = make_model(home / "made" / "draft", seed=1, num_hidden_layers=1, pard_token=MASK)
    hub.models["org/draft"] = HostedModel(files_of(folder))
    return folder


@pytest.mark.usefixtures("quick_tokenizers")
def test_it_is_pulled_drafts_under_its_own_name_and_changes_no_word(hub: HubServer, draft: Path) -> None:
    assert last(SPEC).phase == "done" and installed(SPEC)
    check_drafts(SPEC, "pard")


def test_one_of_another_tokenizer_is_refused_before_its_weights_come(hub: HubServer, draft: Path) -> None:
    make_tokenizer(draft, text=("other words " * 30,))
    hub.models["org/draft"] = HostedModel(files_of(draft))
    with pytest.raises(BadChoice, match="read text differently"):
        last(SPEC)
    assert "model.safetensors" not in hub.downloads()


@pytest.mark.parametrize(
    ("mask", "code", "message"),
    [
        (384, 2, "The draft's mask is token 384, and it has 384 tokens"),
        (-1, 2, "mask is token -1"),
        ("<mask>", 3, "pard_token of the draft model is '<mask>'"),
        (True, 3, "is True"),
    ],
)
def test_a_mask_that_is_no_token_is_refused(
    home: Path, capfd: pytest.CaptureFixture[str], mask: Any, code: int, message: str
) -> None:
    target, draft = make_pair(home)
    make_model(draft, num_hidden_layers=1, pard_token=mask)
    given = ["--target", str(target), "--prompt", "x", "--max-tokens", "4"]
    for way in ("--draft", "--drafter"):
        assert main(["generate", *given, way, str(draft)]) == code
        said = capfd.readouterr().err
        assert message in said and "Traceback" not in said


def test_it_takes_the_place_of_the_draft_model(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target, draft = make_pair(home)
    pard = make_model(home / "pard", num_hidden_layers=1, pard_token=MASK)
    make_tokenizer(pard)
    given = ["generate", "--target", str(target), "--drafter", str(pard)]
    given += ["--prompt", "x", "--max-tokens", "9", "--draft-length", "3"]
    assert main([*given, "--draft-head", "40", "--json"]) == 0
    assert "pard" in json.loads(capfd.readouterr().out)["stats"]["rounds_by_drafter"]
    assert main([*given, "--drafter", str(draft)]) == 2
    assert "both name the draft. Leave one out" in capfd.readouterr().err
