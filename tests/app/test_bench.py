"""`bench` measures honestly and says what it found, a loss included."""

import csv
import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.cli import main
from app.commands import arguments as args
from app.compare.bench.comparison import by_category, compare
from app.compare.bench.measured import Measured
from app.compare.bench.plot import plot as draw
from app.compare.bench.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.engine.difference import Difference
from app.shell.errors import BadInput, MachineFailed
from mlx_spec.stats import Stats, summarise
from tests.app.tiny_pair import TinyPair


def measured(plain: list[int], drafted: list[int], category: str = "c", accepted: int = 8) -> Measured:
    def runs(speeds: list[int]) -> tuple[Stats, ...]:
        counts = {"rounds": 5, "draft_n": 10, "draft_n_accepted": accepted}
        return tuple(replace(summarise([]), tokens_per_second=float(speed), **counts) for speed in speeds)

    return Measured(BenchPrompt("p", category, "x"), runs(plain), runs(drafted), 10, None)


def test_drafting_that_is_faster_in_every_repeat_pays() -> None:
    result = compare([measured([100, 110, 90], [160, 170, 150])])
    assert result.ratio == pytest.approx(1.6)
    assert result.ratio_spread == pytest.approx((170 / 110, 150 / 90))
    assert result.verdict == "drafting pays: 1.60x"
    assert result.won and not result.lost


def test_drafting_that_is_slower_in_every_repeat_is_a_loss_in_words() -> None:
    result = compare([measured([100, 110, 90], [80, 88, 75])])
    assert result.lost
    assert result.verdict == "drafting does not pay here: 0.80x"


def test_what_is_faster_without_an_accepted_token_is_no_gain_of_drafting() -> None:
    result = compare([measured([100, 100], [110, 112], accepted=0)])
    assert not result.won
    assert result.verdict == "no gain: 1.11x, but no drafted token was accepted"


def test_a_ratio_inside_its_spread_is_neither_gain_nor_loss() -> None:
    result = compare([measured([100, 100, 100], [99, 95, 130])])
    assert not result.won and not result.lost
    assert result.verdict.startswith("no gain")


def test_the_overall_ratio_is_the_geometric_mean_and_matches_the_speeds() -> None:
    results = [measured([100], [200], "a"), measured([10], [5], "b")]
    overall = compare(results)
    assert overall.ratio == pytest.approx(1.0)
    assert overall.drafted_tps / overall.plain_tps == pytest.approx(overall.ratio)
    assert {name: c.ratio for name, c in by_category(results).items()} == pytest.approx({"a": 2.0, "b": 0.5})


def told_differences(differing: int, prompts: int) -> str:
    from app.commands.bench import _tell_differences

    found, lines = Difference(1, "a", "b", None, 0.0), list[str]()
    results = [
        replace(measured([1], [1]), difference=found if n < differing else None) for n in range(prompts)
    ]
    assert _tell_differences(results, {"temperature": 0, "verify": "coupled"}, lines.append) == differing
    return lines[-1]


def test_the_number_of_texts_is_told_in_words_that_fit_one_too() -> None:
    assert told_differences(0, 1) == "The text is the same with and without drafting."
    assert told_differences(0, 2) == "All 2 texts are the same with and without drafting."
    assert told_differences(1, 2).startswith("1 text differs without")
    assert told_differences(2, 2).startswith("2 texts differ without")


def test_the_default_prompts_cover_every_category() -> None:
    categories = {prompt.category for prompt in read_prompts(DEFAULT_PROMPTS)}
    assert categories == {"chat", "code", "summary", "reasoning", "translation", "writing"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no prompts"),
        ('{"id": "a"', "line 1 cannot be read as JSON"),
        ("[1]", "no JSON object"),
        ('\n{"id": x}', "line 2 cannot be read as JSON: Expecting value, at character 8."),
        ("[" * 100_000, "line 1 cannot be read as JSON: its brackets are nested too deep"),
        ("9" * 5000, "line 1 cannot be read as JSON: a number in it has thousands of digits"),
        ('{"id": "a", "category": "b"}', '"prompt"'),
        ('\n{"id": "a", "category": "b", "prompt": 3}', "line 2"),
        ('{"id": "a", "category": "b", "prompt": "c"}\n' * 2, "twice"),
        ('{"id": "a", "category": "b", "prompt": "hi \\ud800"}', 'field "prompt", is not UTF-8'),
    ],
)
def test_a_prompt_file_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(content)
    with pytest.raises(BadInput, match=told):
        read_prompts(file)


@pytest.mark.parametrize("command", ["bench", "check"])
def test_a_prompt_that_does_not_fit_is_named_before_the_first_is_answered(
    command: str, tiny_pair: TinyPair, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [{"id": name, "category": "c", "prompt": text} for name, text in (("a", "x"), ("b", "x " * 9000))]
    file = tmp_path / "prompts.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert main([command, *tiny_pair.arguments, "--prompts", str(file), "--max-tokens", "4"]) == 2
    told = capfd.readouterr()
    assert told.err.splitlines()[-1].startswith("The prompt b has ")
    assert not told.out


def test_bench_reports_rows_categories_and_the_whole(
    tiny_pair: TinyPair, three_prompts: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table, picture = tmp_path / "rows.csv", tmp_path / "picture.svg"
    code = main(
        [
            "bench",
            *tiny_pair.arguments,
            "--prompts",
            str(three_prompts),
            "--max-tokens",
            "16",
            "--repeats",
            "2",
        ]
        + ["--json", "--csv", str(table), "--plot", str(picture)]
    )
    report = json.loads(capfd.readouterr().out)
    overall = report["overall"]
    assert code == int(overall["verdict"].startswith("drafting does not pay"))
    assert {"plain_tps", "drafted_tps", "ratio", "ratio_spread", "accepted_per_round"} <= set(overall)
    assert {"acceptance_rate", "verdict", "peak_memory_bytes"} <= set(overall)
    assert [row["id"] for row in report["rows"]] == ["a", "b", "c"]
    assert list(report["by_category"]) == ["one", "two"]
    assert all(row["same_text"] for row in report["rows"])
    with table.open() as stream:
        assert [row["category"] for row in csv.DictReader(stream)] == ["one", "one", "two"]
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_a_place_where_no_file_can_be_written_is_refused_before_anything_is_loaded(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def load(*_: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(args, "loaded_pair", load)
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    assert main(["bench", option, str(folder)]) == 2
    assert main(["bench", option, ""]) == 2
    assert main(["bench", option, str(tmp_path / "none" / "x.svg")]) == 2
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["bench", option, str(tmp_path / "x.svg")]) == 2
    assert "Name another place" in capfd.readouterr().err
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize("writer", ["report.write_csv", "plot.plot"])
def test_what_was_measured_is_printed_although_its_file_cannot_be_written(
    writer: str,
    tiny_pair: TinyPair,
    one_prompt: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise MachineFailed("the disk is full")

    monkeypatch.setattr(f"app.compare.bench.{writer}", full)
    code = main(
        ["bench", *tiny_pair.arguments, "--prompts", str(one_prompt), "--max-tokens", "4", "--repeats", "1"]
        + ["--json", "--csv", str(tmp_path / "x.csv"), "--plot", str(tmp_path / "x.svg")]
    )
    told = capfd.readouterr()
    assert code == 3 and "the disk is full" in told.err
    assert len(json.loads(told.out)["rows"]) == 1


def test_ctrl_c_in_bench_keeps_the_prompts_that_are_done(
    tiny_pair: TinyPair,
    three_prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from app.compare.bench.measure import _Bench

    compare_one = _Bench.compare

    def pressed_at_the_third(bench: _Bench, prompt: BenchPrompt, ids: list[int]) -> Measured:
        if prompt.id == "c":
            signal.raise_signal(signal.SIGINT)
        return compare_one(bench, prompt, ids)

    monkeypatch.setattr(_Bench, "compare", pressed_at_the_third)
    table = tmp_path / "rows.csv"
    code = main(
        ["bench", *tiny_pair.arguments, "--prompts", str(three_prompts), "--max-tokens", "4"]
        + ["--repeats", "1", "--json", "--csv", str(table)]
    )
    told = capfd.readouterr()
    report = json.loads(told.out)
    assert code == 130 and "Broken off after 2 of 3 prompts." in told.err
    assert [row["id"] for row in report["rows"]] == ["a", "b"] and not report["complete"]
    assert len(table.read_text().splitlines()) == 3


def test_a_picture_is_xml_whatever_its_words_and_a_category_named_all_has_a_bar_of_its_own(
    tmp_path: Path,
) -> None:
    results = [measured([10], [20], "all"), measured([10], [20], "red \x1b[31m"), measured([10], [20], "$x$")]
    file = tmp_path / "picture.svg"
    draw(file, by_category(results), compare(results), "a pair \x07: title", "note")
    ElementTree.parse(file)
    comments = re.findall("<!-- (.*?) -->", file.read_text())
    assert comments.count("all") == 2
    assert "red ␛[31m" in comments and "a pair ␇: title" in comments


def test_every_run_reads_its_prompt_from_the_beginning(
    tiny_pair: TinyPair, three_prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.commands.arguments import chosen_pair, loaded_pair
    from app.compare.bench.measure import measure
    from mlx_spec.types import Options

    pair = loaded_pair(chosen_pair(None, str(tiny_pair.target), str(tiny_pair.draft), None))
    results = measure(pair, read_prompts(three_prompts), Options(max_tokens=8), repeats=2)
    assert {stats.cached_tokens for m in results for stats in (*m.plain, *m.drafted)} == {0}


def test_a_draft_that_only_costs_time_loses_with_exit_code_1(
    slow_draft_pair: TinyPair, one_prompt: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(
        ["bench", *slow_draft_pair.arguments, "--prompts", str(one_prompt), "--max-tokens", "16"]
        + ["--repeats", "2", "--drafter", "model", "--draft-length", "5"]
    )
    told = capfd.readouterr()
    assert code == 1
    assert "drafting does not pay here" in told.out
    assert "The text is the same" in told.out
