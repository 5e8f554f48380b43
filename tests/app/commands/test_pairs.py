"""`pairs show` ranks the drafters that fit a target, and says how to get them."""

from dataclasses import replace
from pathlib import Path

import pytest

from models.pairs.catalogue import find
from models.pairs.installed import repository_folder
from models.pairs.own_pairs import add_own
from models.pairs.pair import Source
from models.speed.machine import Machine
from tests.app.run_command import Cli


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_the_best_comes_first_with_its_reason_and_the_command_that_brings_it(run: Cli) -> None:
    lines = run("pairs show qwen3.8-27b --chip", "M4 Pro").out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("1. "))
    assert lines[first].startswith("1. dflash2: incoai/Qwen3.8-27B-DFlash2 · 3.9 GB · 1.79x expected")
    assert lines[first].endswith("named in mlx-dspark 0.20.3 ?")
    assert lines[first + 1].startswith("   27 tokens/s (19 to 48), predicted: ")
    assert lines[first + 1].endswith("temperature 0 and 1 (Blaizzy/mlx-vlm#2014); licence: Apache-2.0")
    command = "mlx-spec pull --target mlx-community/Qwen3.8-27B-4bit --draft incoai/Qwen3.8-27B-DFlash2"
    assert lines[first + 2] == f"   {command}"
    assert (
        lines[first + 4] == "   not predicted: we know no published acceptance rate of it; licence not known"
    )
    assert lines[-1].startswith("? Not verified")
    assert not any(line.startswith("  drafted") for line in lines), "the pair has no draft model to predict"


def test_the_command_that_brings_a_drafter_quotes_a_target_with_a_space(tmp_path: Path, run: Cli) -> None:
    target = tmp_path / "my models" / "Qwen3-8B-4bit"
    add_own(replace(find("qwen3-8b"), name="mine", target=Source(str(target)), own=True))
    assert f"mlx-spec pull --target '{target}' --draft z-lab/" in run("pairs show mine --chip", "M4 Pro").out


def test_json_has_the_same_list_and_nothing_unfetched_is_verified(run: Cli) -> None:
    ranked = run.json("pairs show qwen3-8b --chip", "M4 Pro")["may_draft"]
    assert [each["verified"] for each in ranked] == [False] * len(ranked)
    assert {"dspark", "dflash", "eagle", "peagle", "model", "pard"} == {each["kind"] for each in ranked}
    assert all(each["pull"].endswith(f"--draft {each['source']}") for each in ranked)
    assert all((each["gain"] is None) == each["why"].startswith("not predicted") for each in ranked)


def test_what_ships_is_here_and_needs_no_command(run: Cli) -> None:
    (head,) = run.json("pairs show smollm2-135m --chip", "M4 Max")["may_draft"]
    assert (head["kind"], head["here"], head["verified"], head["pull"]) == ("eagle", True, True, None)
    out = run("pairs show smollm2-135m --chip", "M4 Max").out
    assert "\n   here\n" in out and "? Not verified" not in out
    assert "\ndraft             none\ndrafters          eagle\n" in out


def test_of_a_pair_with_a_head_its_prediction_says_nothing_of_a_draft_model(run: Cli) -> None:
    repository = repository_folder("org/head")
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("main")
    (repository / "snapshots" / "main").mkdir(parents=True)
    (repository / "snapshots" / "main" / "config.json").write_text('{"medusa_num_heads": 2}')
    add_own(replace(find("qwen3-8b"), name="mine", draft=Source("org/head"), own=True))
    said = run("pairs show mine --chip M1").out
    assert "On an M1: plain" in said and "no gain from drafting" not in said
    assert "medusa: org/head" in said and "model: org/head" not in said
    rows = run("pairs --chip M1").out.split("\n\n")[0].splitlines()
    lines = {line.split()[0]: line.split() for line in rows if line.split()}
    assert len(lines["mine"]) == len(lines["qwen3-8b"]) - 1, "no drafted speed"


def test_below_the_list_is_why_a_pair_does_not_fit_and_only_that(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    small = Machine(4 * 10**9, 10**12, has_metal=True)
    monkeypatch.setattr("models.speed.fit.this_machine", lambda: small)
    out = run("pairs").out
    assert "\nqwen3-8b: does not fit, needs about 6.3 GB of memory" in out and "\nbuiltin: " not in out
    assert out.splitlines()[-1].startswith("* Not verified")


def test_an_own_draft_whose_folder_is_gone_is_not_here(tmp_path: Path, run: Cli) -> None:
    add_own(replace(find("qwen3-8b"), name="mine", draft=Source(str(tmp_path / "deleted")), own=True))
    lines = run("pairs show mine --chip", "M4 Pro").out.splitlines()
    place = next(i for i, line in enumerate(lines) if "model: deleted" in line)
    assert lines[place].endswith("· gone") and lines[place + 2] == "   gone"
