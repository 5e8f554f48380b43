"""`--drafter` on the command line, and where a target's own drafters are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from mlx_spec.errors import UnsupportedModel
from models.load import drafters
from models.pairs.pair import PairSpec
from models.paths import own_drafters_folder
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair
from tests.models.drafter_folders import EAGLE, Repeating, make_drafter

GENERATE = ["generate", "--prompt", "abcd abcd abcd", "--max-tokens", "12"]
THREE = ["--draft-length", "3"]


def answered(run: Cli, *arguments: str) -> tuple[list[int], set[str]]:
    """The answer's tokens, and the drafters that drafted."""
    report = run.json(*GENERATE, *arguments)
    return report["token_ids"], set(report["stats"]["rounds_by_drafter"]) - {"none"}


def test_several_drafters_are_named_by_repeating_the_flag_and_joining_them(
    tiny_pair: TinyPair, run: Cli
) -> None:
    wanted, _ = answered(run, *tiny_pair.arguments, "--no-draft")
    for named in (["--drafter", "model", "--drafter", "lookup"], ["--drafter", "lookup,model"]):
        assert answered(run, *tiny_pair.arguments, *named, *THREE) == (wanted, {"model", "lookup"})
    target = ["--target", str(tiny_pair.target), "--drafter"]
    assert answered(run, *target, str(tiny_pair.draft), *THREE) == (wanted, {"model"})


def test_a_folder_s_drafter_drafts_and_one_of_another_target_is_refused_with_exit_code_2(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def misfits(*_: object) -> Repeating:
        raise UnsupportedModel("It reads states of 64 numbers, the target has 32.")

    head = make_drafter(tmp_path / "head", EAGLE)
    monkeypatch.setitem(drafters.LOADERS, "eagle", lambda folder, *_: Repeating("eagle", folder))
    wanted, _ = answered(run, *tiny_pair.arguments, "--no-draft")
    assert answered(run, *tiny_pair.arguments, "--drafter", str(head), *THREE) == (wanted, {"eagle"})
    monkeypatch.setitem(drafters.LOADERS, "eagle", misfits)
    err = run(*GENERATE, *tiny_pair.arguments, "--drafter", head, code=2).err
    assert f"The drafter in {head} does not fit this target: It reads" in err
    (head / "model.safetensors").write_bytes(b"cut")
    err = run(*GENERATE, *tiny_pair.arguments, "--drafter", head, code=3).err
    assert f"model.safetensors in {head}" in err


def test_the_chat_opens_with_a_drafter_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("app.commands.chat.has_screen", lambda: True)
    monkeypatch.setattr(
        "app.tui.run.run_chat", lambda spec, settings, *_, **__: opened.append((spec, settings.options))
    )
    head = make_drafter(tmp_path / "head", EAGLE)
    assert main(["chat", "builtin", "--drafter", str(head), "--drafter", "lookup"]) == 0
    ((spec, options),) = opened
    assert isinstance(spec, PairSpec) and [source.repo for source in spec.drafters] == [str(head)]
    assert options.drafter == "lookup+eagle"


def test_a_target_s_own_drafters_are_named_by_pairs_and_doctor(
    monkeypatch: pytest.MonkeyPatch, run: Cli, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    head = make_drafter(own_drafters_folder() / "builtin" / "eagle", EAGLE)
    (own_drafters_folder() / "builtin" / "medusa").mkdir()
    assert run.json("pairs show builtin")["drafters"] == {"eagle": str(head)}
    assert "builtin: drafted by eagle too." in run("pairs").out
    main(["doctor", "--json"])
    findings = json.loads(capfd.readouterr().out)["findings"]
    found = [each for each in findings if each["name"] == "drafters of builtin"]
    assert found[0]["value"] == f"eagle ({head})"
    assert found[1]["state"] == "note" and "medusa holds no config.json" in found[1]["value"]
