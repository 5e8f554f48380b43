"""A pair's expected speed on a Mac is shown before the download, as a prediction."""

import re
import sys

import pytest

from app.chat.pair_facts import Facts, details
from models.pairs.catalogue import all_pairs, find
from models.speed import machine
from models.speed.chips import find_chip
from models.speed.roofline import expect
from tests.app.run_command import Cli


@pytest.mark.parametrize(
    ("chip", "why"), [(None, "this machine is no Mac"), ("Apple M12", "we do not know the chip Apple M12")]
)
def test_where_no_speed_is_predicted_the_reason_is_given(
    chip: str | None, why: str, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(machine, "chip_name", lambda: chip)
    monkeypatch.setattr(machine, "this_chip", lambda: None)
    assert why in run("pairs").out
    assert run.json("pairs show qwen3-8b")["expected"] is None


def test_a_chip_can_be_named_and_the_numbers_are_called_predicted(run: Cli) -> None:
    out = run("pairs show qwen3-8b --chip", "M4 Pro").out
    assert "predicted from speeds that others published" in out
    assert re.search(r"plain +4\d tokens/s \(4\d to 5\d\)", out)
    assert "ml-explore/mlx-lm#1468" in out
    assert [line.split("  ")[0] for line in out.splitlines() if line.startswith("fits")] == ["fits here"]
    listed = run.json("pairs --chip", "M4 Pro")
    assert listed["chip"] == "M4 Pro" and listed["pairs"][0]["name"] == "builtin"
    expected = {pair["name"]: pair["expected"] for pair in listed["pairs"]}
    assert all(each["kind"] == "prediction" for each in expected.values())
    assert {"licence", "installed", "verified", "download_bytes"} <= set(listed["pairs"][0])
    assert "drafted" in run("pairs --chip", "M4 Pro").out
    assert "Known: M1," in run("pairs show builtin --chip M9", code=2).err


def test_a_predicted_speed_below_ten_has_a_decimal(run: Cli) -> None:
    assert re.search(r"plain \d\.\d tokens/s \(\d\.\d to \d\.\d\)", run("pairs show qwen3-32b --chip M1").out)
    assert re.search(r"\n qwen3-32b .* \d\.\d +\d\.\d +Apache", run("pairs --chip M1").out)


def test_the_pairs_are_a_table_with_a_row_each_on_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "80"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    lines = run("pairs").out.splitlines()
    assert all(any(line.startswith(f" {pair.name} ") for line in lines) for pair in all_pairs())


def test_pull_prints_what_to_expect_before_it_downloads(monkeypatch: pytest.MonkeyPatch, run: Cli) -> None:
    monkeypatch.setattr(machine, "this_chip", lambda: find_chip("M1"))
    monkeypatch.setattr("app.commands.pull.pull", lambda spec, cancelled: [])
    err = run("pull qwen3-8b").err
    assert "On an M1: plain 13 tokens/s (11 to 15), no gain from drafting predicted; predicted" in err


def test_of_a_pair_without_a_draft_model_nothing_is_said_about_drafting(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    chip = find_chip("M4 Pro")
    monkeypatch.setattr(machine, "this_chip", lambda: chip)
    monkeypatch.setattr("app.commands.pull.pull", lambda spec, cancelled: [])
    assert re.search(r"plain \d+ tokens/s \(\d+ to \d+\); predicted", run("pull smollm2-135m").err)
    (row,) = [
        line for line in run("pairs --chip", "M4 Pro").out.splitlines() if line.startswith(" smollm2-135m ")
    ]
    assert re.search(r"fits +\d+ +Apache", row)
    pair = find("smollm2-135m")
    assert "drafted" not in details(Facts(pair, installed=False, expected=expect(pair, chip)))
