"""A report measures each pair in its own process, keeps results when stopped, and hides the owner."""

import getpass
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.compare.check import check_plan
from app.compare.plan import Question, Setting, plan
from app.compare.prompts import BenchPrompt
from app.compare.report.card import card
from app.compare.report.collect import PairResult, collect
from app.compare.report.one_pair import measure_pair, plans
from app.compare.report.private import without_names
from app.engine import drafting_state
from app.settings.options import AnswerOptions
from app.shell.errors import MachineFailed
from models import load_pair
from models.pairs.catalogue import REAL_PAIR
from models.speed.chips import find_chip
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair

Report = Callable[..., int]
Capture = pytest.CaptureFixture[str]
ONE = BenchPrompt("b", "one", "abcabcabc")
TWO = BenchPrompt("c", "two", "1 2 3")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def measured(tiny_pair: TinyPair, home: Path) -> list[Any]:
    """The parts of a real pair, in the order they were sent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLX_SPEC_HOME", str(home))
        patch.setattr("mlx_spec.calibrate.SECONDS", 0.1)
        patch.setattr("app.compare.check.LENGTHS", (0, 3))
        patch.setattr("mlx_spec.calibrate.FAR", 128)
        pair = load_pair(target=str(tiny_pair.target), draft=str(tiny_pair.draft))
        setting, options = Setting("auto", None, 0.0), AnswerOptions(max_tokens=8)
        benching = plan([Question.of(ONE), Question.of(TWO)], [setting], options, 1)
        parts: list[Any] = []
        measure_pair(pair, check_plan(pair, [ONE], 6), benching, lambda *message: parts.append(message))
        return [message[1:] for message in parts if message[0] == "part"]


@pytest.fixture
def result(measured: list[Any]) -> PairResult:
    return PairResult("builtin", "complete", parts=dict(measured))


def child(folder: Path, body: str) -> tuple[str, str]:
    """A process that replaces the measuring one and sends the messages of a script."""
    script = folder / "child.py"
    script.write_text(
        "import os, sys, time\nfrom models.child import asked\n(name, quick), put = asked()\n"
        "def send(*message): put(message)\n" + body
    )
    return sys.executable, str(script)


def test_check_tune_and_bench_come_in_parts_and_what_was_measured_is_kept_for_answers(
    measured: list[Any], home: Path, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [name for name, _ in measured] == ["loaded", "check", "tune", "bench", "bench"]
    parts = dict(measured)
    assert parts["check"]["complete"] and parts["check"]["lossless"]
    assert parts["tune"]["plain_seconds"] > 0
    assert all(cost > 0 for costs in parts["tune"]["relative"].values() for cost in costs.values())
    assert [value["complete"] for name, value in measured if name == "bench"] == [False, True]
    assert set(parts["bench"]["by_category"]) == {"one", "two"}
    assert parts["bench"]["overall"]["same_text"] == 2
    json.dumps(parts)
    monkeypatch.setenv("MLX_SPEC_HOME", str(home))
    assert drafting_state.restore(load_pair(target=str(tiny_pair.target), draft=str(tiny_pair.draft)))


def test_a_quick_report_is_a_part_of_the_whole_one(tiny_pair: TinyPair) -> None:
    pair = load_pair(target=str(tiny_pair.target), draft=str(tiny_pair.draft))
    (checking, benching), (quick_check, quick_bench) = plans(pair, quick=False), plans(pair, quick=True)
    assert len(benching.questions) == 24 and len(checking.questions) == 5
    categories = {question.prompt.category for question in benching.questions}
    assert {question.prompt.category for question in quick_bench.questions} == categories
    assert len(quick_bench.questions) == len(categories) == 6
    assert quick_check.count < checking.count
    assert (benching.options.max_tokens, benching.repeats) == (128, 3)
    assert (quick_bench.options.max_tokens, quick_bench.repeats) == (48, 1)


def test_pairs_are_measured_one_after_another_and_one_that_fails_costs_no_other(tmp_path: Path) -> None:
    script = (
        "send('part', 'check', {'of': name, 'step': 1})\n"
        "if name == 'full': send('failed', 'The memory is full.'); sys.exit()\n"
        "if name == 'dead': print('broken', flush=True); os._exit(9)\n"
        "send('step', 'benching')\n"
        "send('part', 'check', {'of': name, 'step': 2})\n"
    )
    seen: list[str] = []
    command = child(tmp_path, script)
    found = collect(["one", "full", "dead", "two"], quick=True, show=seen.append, command=command)
    assert [r.state for r in found] == ["complete", "failed", "failed", "complete"]
    assert found[1].why == "The memory is full."
    assert "exit status 9: broken" in found[2].why
    assert found[2].parts == {"check": {"of": "dead", "step": 1}}
    assert found[3].parts == {"check": {"of": "two", "step": 2}}
    assert seen == ["one: benching", "two: benching"]


def test_a_wrong_address_of_the_hub_is_named_by_a_report_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://[")
    (found,) = collect(["builtin"], quick=True, show=lambda text: None)
    assert found.state == "failed" and found.why.startswith("HF_ENDPOINT is 'http://['")


def test_ctrl_c_keeps_what_arrived_and_ends_the_process(tmp_path: Path) -> None:
    command = child(
        tmp_path,
        f"open({str(tmp_path)!r} + '/' + name, 'w').write(str(os.getpid()))\n"
        "send('part', 'check', {'lossless': True})\nsend('step', 'at it')\n"
        "if name == 'second': time.sleep(60)\n",
    )

    def show(text: str) -> None:
        if text == "second: at it":
            signal.raise_signal(signal.SIGINT)

    found = collect(["first", "second", "third"], quick=False, show=show, command=command)
    assert [r.state for r in found] == ["complete", "interrupted", "not reached"]
    assert found[1].parts == {"check": {"lossless": True}}
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "second").read_text()), 0)


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Report:
    """Run the command with these results; its files go into the test's folder."""

    def run(*results: PairResult, out: str = "", more: tuple[str, ...] = ()) -> int:
        monkeypatch.setattr("app.compare.report.collect.collect", lambda names, **rest: results)
        return main(["report", "--out", str(tmp_path / out), *more])

    return run


def test_one_json_and_one_card_with_a_prediction_are_written(
    monkeypatch: pytest.MonkeyPatch, report: Report, tmp_path: Path, result: PairResult, capfd: Capture
) -> None:
    monkeypatch.setattr("models.speed.machine.this_chip", lambda: find_chip("M4 Pro"))
    assert report(result) == 0
    printed = capfd.readouterr()
    (json_file,), (card_file,) = tmp_path.glob("*.json"), tmp_path.glob("*.md")
    document = json.loads(json_file.read_text())
    assert document["complete"] and document["pairs"][0]["parts"]["bench"]["overall"]["plain_tps"] > 0
    assert document["versions"]["mlx"] and document["before"]["load_average"]
    page = card_file.read_text()
    assert page == printed.out == card(document) + "\n"
    assert "lossless: all" in page and "| all |" in page and "Partial" not in page
    assert "predicted for an M4 Pro: plain" in page
    assert ", passes " + ("compiled" if document["machine"]["compiled"] else "not compiled") in page
    for line in ("## builtin", "- before: taken", "- after: taken"):
        assert f"\n{line}" in page
    assert re.search(r"\n\| all \|[^(]* 2 of 2 \|", page), "one run each has no range"
    assert re.search(r"\n\| lookup, x plain \| \d+\.\d\d \|", page)
    no_speed = {"plain_tps": 0.0, "drafted_tps": 0.0, "ratio": None, "ratio_spread": None}
    document["pairs"][0]["parts"]["bench"]["by_category"]["one"] |= no_speed
    assert "\n| one | - | - | - |" in card(document)
    assert str(json_file) in printed.err and str(card_file) in printed.err


def test_the_card_compares_a_drafted_speed_with_no_prediction_where_only_plain_decoding_has_one(
    monkeypatch: pytest.MonkeyPatch, report: Report, tmp_path: Path, result: PairResult
) -> None:
    monkeypatch.setattr("models.speed.machine.this_chip", lambda: find_chip("M4 Pro"))
    said = list[str]()
    for result.name in (REAL_PAIR, "builtin"):
        (tmp_path / result.name).mkdir()
        report(result, out=result.name)
        (card_file,) = tmp_path.glob(f"{result.name}/*.md")
        said += re.findall("predicted for .*", card_file.read_text())
    assert [text.count(": off by ") for text in said] == [1, 2], "the first has no draft model"


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["card", "json"])
def test_a_report_is_written_although_nobody_reads_it(
    more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, report: Report, tmp_path: Path, result: PairResult
) -> None:
    def full(text: str, end: str = "") -> None:
        raise MachineFailed("The output cannot be written: No space left on device.")

    monkeypatch.setattr("app.commands.report.data", full)
    assert report(result, more=more) == 3
    assert len(list(tmp_path.glob("*.json"))) == len(list(tmp_path.glob("*.md"))) == 1


def test_an_interrupted_report_is_written_if_anything_was_measured(
    report: Report, tmp_path: Path, result: PairResult, capfd: Capture
) -> None:
    assert report(PairResult("builtin", "interrupted", parts={"loaded": {}})) == 130
    assert not list(tmp_path.iterdir())
    result.state = "interrupted"
    del result.parts["bench"]
    assert report(result, PairResult("qwen3-8b"), more=("--json",)) == 130
    assert not json.loads(capfd.readouterr().out)["complete"]
    page = next(tmp_path.glob("*.md")).read_text()
    assert "**Partial: builtin interrupted, qwen3-8b not reached**" in page
    assert "**Not reached.**" in page


def test_a_failed_check_or_a_failed_pair_is_the_exit_code(report: Report, result: PairResult) -> None:
    result.parts["check"] = {**result.parts["check"], "lossless": False}
    assert report(result) == 1
    assert report(result, PairResult("qwen3-8b", "failed", "The memory is full.")) == 3
    assert report(result, out="nowhere") == 2


def test_nothing_in_a_report_names_its_owner(
    monkeypatch: pytest.MonkeyPatch, report: Report, tmp_path: Path, capfd: Capture
) -> None:
    monkeypatch.setenv("HOME", "/Users/zoë")
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnop")
    monkeypatch.setattr(getpass, "getuser", lambda: "zoë")
    why = "/Users/zoë/.cache/x is broken, /Volumes/zoë/models too; token hf_abcdefghijklmnop"
    report(PairResult("qwen3-8b", "failed", why))
    printed = capfd.readouterr().out + next(tmp_path.glob("*.json")).read_text()
    assert "zoë" not in printed and "hf_" not in printed
    assert "~/.cache/x is broken, /Volumes/(name)/models too; token (token)" in printed
    assert without_names({"a": ("/Users/zoë/b", 1), "b": "/x/zoë"}) == {"a": ["~/b", 1], "b": "/x/(name)"}


@pytest.mark.slow
def test_the_built_in_pair_is_reported_from_end_to_end(tmp_path: Path, run: Cli) -> None:
    document = run.json("report --quick --out", tmp_path)
    assert document["pairs"][0]["name"] == "builtin"
    assert document["pairs"][0]["parts"]["check"]["lossless"]
