"""`bench` reports what it measured, a loss included."""

import csv
import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from app.cli import main
from app.commands import loading
from app.compare.collector import RunCollector
from app.compare.comparison import by_category, compare, mean_speed
from app.compare.plan import Question, Run, Setting, plan
from app.compare.prompts import read_prompts
from app.compare.runner import run_plan
from app.compare.words import unexplained
from app.engine.difference import Difference
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput, MachineFailed
from models import load_pair
from tests.app.compare.scripted_runs import measured
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair, write_tiny_pair


@pytest.mark.parametrize(
    ("plain", "drafted", "accepted", "won", "lost", "words"),
    [
        ([100, 110, 90], [160, 170, 150], 8, True, False,
         "drafting is 1.60 times as fast (1.55 to 1.67 over 3 repeats)"),
        ([100, 110, 90], [80, 88, 75], 8, False, True,
         "drafting is slower, 0.80 times as fast (0.80 to 0.83 over 3 repeats)"),
        ([100, 100], [110, 112], 0, False, False,
         "no gain, 1.11 times as fast, but no drafted token was accepted (1.10 to 1.12 over 2 repeats)"),
        ([100, 100, 100], [106, 99, 130], 8, False, False,
         "no sure gain, 1.06 times as fast (0.99 to 1.30 over 3 repeats)"),
        ([100, 100], [80, 102], 0, False, False, "no gain, 0.91 times as fast (0.80 to 1.02 over 2 repeats)"),
        ([100], [101], 8, False, False, "no gain, 1.01 times as fast (one run each)"),
        ([100], [99], 8, False, False, "no gain, 0.99 times as fast (one run each)"),
        ([100], [200], 8, True, False, "drafting is 2.00 times as fast (one run each)"),
        ([0], [0], 0, False, False, "no speed was measured: no answer has a second token"),
    ],
)  # fmt: skip
def test_a_gain_is_one_in_every_repeat_and_by_drafting(
    plain: list[int], drafted: list[int], accepted: int, won: bool, lost: bool, words: str
) -> None:
    result = compare([measured(plain, drafted, accepted=accepted)])
    assert (result.won, result.lost, result.verdict) == (won, lost, words)


def test_a_faster_run_is_no_gain_if_too_few_tokens_were_accepted_to_make_it_one() -> None:
    one = measured([100, 100], [116, 118], accepted=1)
    drafted = tuple(replace(run, rounds=100) for run in one.drafted)
    found = compare([replace(one, drafted=drafted)])
    words = "no gain, 1.17 times as fast, but next to nothing was drafted and accepted"
    assert not found.won and found.verdict == f"{words} (1.16 to 1.18 over 2 repeats)"


def test_the_overall_ratio_is_the_geometric_mean_of_the_prompts_that_were_timed() -> None:
    results = [measured([100], [200], "a"), measured([10], [5], "b"), measured([0], [0], "b")]
    overall = compare(results)
    assert overall.ratio == pytest.approx(1.0)
    assert overall.drafted_tps / overall.plain_tps == pytest.approx(overall.ratio)
    assert {name: c.ratio for name, c in by_category(results).items()} == pytest.approx({"a": 2.0, "b": 0.5})


def test_times_are_each_ways_own_memory_is_the_most_of_all_and_an_answer_of_one_token_has_no_speed() -> None:
    one = measured([100], [200])
    plain = (replace(one.plain[0], time_to_first_token=2.0, peak_memory_bytes=9),)
    found = compare([replace(one, plain=plain)])
    assert (found.plain_time_to_first_token, found.drafted_time_to_first_token) == (2.0, 0.0)
    assert (found.peak_memory_bytes, found.acceptance_rate, found.accepted_per_round) == (9, 0.8, 1.6)
    assert mean_speed([measured([100, 0], []).plain, one.drafted]) == pytest.approx(200)


def test_only_texts_that_should_be_the_same_and_are_no_near_tie_want_an_explanation() -> None:
    tie, parted = (Difference(1, "a", "b", margin, 0.1) for margin in (0.01, 3.0))
    results = [measured([1], [1], difference=difference) for difference in (None, tie, parted)]
    assert unexplained(results, "block") == [results[2]], "at temperature 0 every rule keeps the text"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no prompts"),
        ('{"id": "a"', "line 1: Invalid JSON"),
        ("[1]", "line 1: Input should be an object"),
        ('\n{"id": x}', "line 2: Invalid JSON: expected value at character 8."),
        ("[" * 100_000, "line 1: Invalid JSON: recursion limit"),
        ("9" * 5000, "line 1: Invalid JSON: number out of range"),
        ('{"id": "a", "category": "b"}', 'field "prompt": Field required'),
        (
            '\n{"id": "a", "category": "b", "prompt": 3}',
            'line 2, field "prompt": Input should be a valid str',
        ),
        ('{"id": "a", "category": "b", "prompt": " "}', "line 1: the prompt is empty"),
        ('{"id": "", "category": "b", "prompt": "c"}', "line 1: the id is empty"),
        ('{"id": "a", "category": "b", "prompt": "c"}\n' * 2, "twice"),
        ('{"id": "a", "category": "b", "prompt": "hi \\ud800"}', "Invalid JSON"),
    ],
)
def test_a_prompt_file_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(content)
    with pytest.raises(BadInput, match=message):
        read_prompts(file)


def test_a_large_set_of_prompts_is_read_at_once_with_one_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr("pydantic.TypeAdapter", lambda kind: made.append(kind) or TypeAdapter(kind))
    lines = (json.dumps({"id": str(n), "category": "c", "prompt": "x"}) for n in range(20_000))
    (file := tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    assert len(read_prompts(file)) == 20_000 and len(made) == 1


def test_a_file_of_plain_text_is_refused_with_a_line_as_it_should_be(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("What is a draft?\n")
    with pytest.raises(BadInput) as refused:
        read_prompts(file)
    assert "line 1: Invalid JSON" in str(refused.value)
    file.write_text(str(refused.value).split("A line is like ")[1].removesuffix("."))
    assert [prompt.prompt for prompt in read_prompts(file)] == ["Hello!"]


def test_a_prompt_that_does_not_fit_is_named_before_the_first_is_answered(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    lines = [{"id": name, "category": "c", "prompt": text} for name, text in (("a", "x"), ("b", "x " * 4200))]
    file = tmp_path / "prompts.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    printed = run("bench", *tiny_pair.arguments, "--prompts", file, "--max-tokens", 4, code=2)
    assert printed.err.splitlines()[-1].startswith("The prompt b has ")
    assert not printed.out


def test_texts_that_may_differ_are_not_listed_as_unexplained(
    tiny_pair: TinyPair, one_prompt: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = "bench --verify token --temperature 2 --draft-length 3 --repeats 1 --max-tokens 12 --prompts"
    main([*given.split(), str(one_prompt), *tiny_pair.arguments])  # its code depends on the speed
    printed = capfd.readouterr().out
    assert "the texts differ, as they may" in printed and "NOT explained" not in printed


def test_bench_reports_rows_categories_the_whole_and_whether_passes_were_compiled(
    tiny_pair: TinyPair, three_prompts: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("mlx_spec.target.model.COMPILES", True)
    table, picture = tmp_path / "rows.csv", tmp_path / "picture.svg"
    files = ["--prompts", str(three_prompts), "--csv", str(table), "--plot", str(picture)]
    files += ["--raw", "--draft-head", "9", "--documents", str(three_prompts)]
    code = main([*"bench --max-tokens 6 --repeats 2 --json".split(), *tiny_pair.arguments, *files])
    report = json.loads(capfd.readouterr().out)
    overall = report["overall"]
    assert code == int(overall["verdict"].startswith("drafting is slower"))
    assert {"plain_tps", "drafted_tps", "ratio", "ratio_spread", "accepted_per_round"} <= set(overall)
    assert {"acceptance_rate", "verdict", "peak_memory_bytes"} <= set(overall)
    assert report["setting"] == {"drafter": "auto", "draft_length": None, "temperature": 0.0}
    assert report["complete"] and report["device"] and report["options"]["max_tokens"] == 6
    assert report["compiled"] is True
    assert [row["id"] for row in report["rows"]] == ["a", "b", "c"]
    assert list(report["by_category"]) == ["one", "two"]
    assert all(row["same_text"] for row in report["rows"])
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["category"] for row in rows] == ["one", "one", "two"]
    assert {(row["blas"], row["compiled"]) for row in rows} == {(report["blas"], "True")}
    assert {(row["raw"], row["draft_head"], row["documents"]) for row in rows} == {("True", "9", "1")}
    assert report["raw"] is True and report["pair"]["draft_head"] == 9
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_a_place_where_no_file_can_be_written_is_refused_before_anything_is_loaded(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def load(*_: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(loading, "loaded_pair", load)
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    run("bench", option, folder, code=2)
    run("bench", option, "", code=2)
    run("bench", option, tmp_path / "none" / "x.svg", code=2)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "Name another place" in run("bench", option, tmp_path / "x.svg", code=2).err
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize("other", ["--prompts", "--plot"])
def test_a_file_that_is_named_twice_is_refused_before_it_is_replaced(
    other: str, three_prompts: Path, run: Cli
) -> None:
    (file := three_prompts.with_name("x.svg")).symlink_to(three_prompts)
    before = three_prompts.read_text()
    printed = run("bench", "--csv", three_prompts, other, file, "--target", "none", code=2)
    assert "name one file twice" in printed.err and three_prompts.read_text() == before


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_what_was_measured_is_printed_although_its_file_cannot_be_written(
    option: str, tiny_pair: TinyPair, one_prompt: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def full(*_: object) -> None:
        raise MachineFailed("the disk is full")

    writer = {"--csv": "app.compare.export.write_csv", "--plot": "app.compare.plots.draw"}[option]
    monkeypatch.setattr(writer, full)
    files = ["--prompts", one_prompt, option, one_prompt.with_name("x.svg")]
    printed = run("bench --max-tokens 4 --repeats 1 --json", *files, *tiny_pair.arguments, code=3)
    assert "the disk is full" in printed.err and len(json.loads(printed.out)["rows"]) == 1


@pytest.mark.parametrize(("prompt", "rows"), [(2, ["a", "b"]), (0, ["a"])])
def test_ctrl_c_in_bench_keeps_the_prompts_that_are_done_or_the_first_as_far_as_it_is(
    prompt: int, rows: list[str], tiny_pair: TinyPair, three_prompts: Path,
    run: Cli, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    add = RunCollector.add

    def pressed_in_the_second_repeat(collector: RunCollector, run: Run, *answer: Any) -> None:
        if (run.prompt, run.repeat) == (prompt, 1):
            signal.raise_signal(signal.SIGINT)
        add(collector, run, *answer)

    monkeypatch.setattr(RunCollector, "add", pressed_in_the_second_repeat)
    table = three_prompts.with_name("rows.csv")
    files = ["--prompts", three_prompts, "--csv", table]
    printed = run("bench --max-tokens 4 --repeats 2 --json", *files, *tiny_pair.arguments, code=130)
    report = json.loads(printed.out)
    assert f"Broken off after {4 * prompt + 2} of 12 runs: stopped by you." in printed.err
    assert [row["id"] for row in report["rows"]] == rows and not report["complete"]
    assert len(table.read_text().splitlines()) == 1 + len(rows)


def test_every_run_reads_its_prompt_from_the_beginning(tiny_pair: TinyPair, three_prompts: Path) -> None:
    pair = load_pair(target=str(tiny_pair.target), draft=str(tiny_pair.draft))
    questions = [Question.of(prompt) for prompt in read_prompts(three_prompts)]
    collector = RunCollector(plan(questions, [Setting("auto", 2, 0.0)], AnswerOptions(max_tokens=4), 1))
    assert len(list(run_plan(pair, collector))) == 2 + 3 * 2
    runs = [stats for m in collector.measured() for side in (m.plain, m.drafted) for stats in side]
    assert len(runs) == 3 * 2 and {stats.cached_tokens for stats in runs} == {0}


def test_a_draft_that_only_costs_time_loses_with_exit_code_1(
    tmp_path: Path, one_prompt: Path, run: Cli
) -> None:
    slow = write_tiny_pair(tmp_path, target_layers=1, draft_layers=16)
    slowly = ["--prompts", one_prompt, *slow.arguments, "--drafter", "model", "--draft-length", 3]
    printed = run("bench --max-tokens 12 --repeats 2", *slowly, code=1).out
    assert "drafting is slower" in printed and "the texts are identical" in printed
    assert re.match(r"\d{4}-\S+  target  .* \(cpu\), .*mlx [\d.]+, .*max tokens 12, seed 0", printed)
