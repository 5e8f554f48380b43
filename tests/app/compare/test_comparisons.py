"""Comparisons without a screen: the runs, the verdicts, the saved records."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from app.compare import store
from app.compare.collector import RunCollector
from app.compare.export import export
from app.compare.plan import Setting
from app.compare.plots import draw, series
from app.compare.record import record_from_json
from app.compare.words import difference_text, drafting_text, headline, sentence
from app.engine.difference import Difference
from app.settings.options import AnswerOptions
from mlx_spec.stats import summarise
from mlx_spec.types import Round
from tests.app.compare.scripted_runs import FACTS, MODEL, PLAIN, TOKENS, gathered, record_of, stats, wanted
from tests.app.run_command import Cli


def test_every_setting_is_warmed_up_and_the_order_turns_round_with_every_repeat() -> None:
    runs = list(wanted(repeats=2, prompts=2).runs)
    assert [run.warm_up for run in runs[:3]] == [True, True, False]
    assert [run.setting for run in runs[2:6]] == [0, 1, 1, 0]
    assert [run.prompt for run in runs[2:]] == [0] * 4 + [1] * 4
    short = replace(wanted(), options=AnswerOptions(max_tokens=5))
    assert {short.options_of(run).max_tokens for run in short.runs} == {5}


def test_each_temperature_has_a_plain_run_of_its_own() -> None:
    hot = replace(MODEL, temperature=0.8)
    assert wanted(MODEL, hot).settings == (PLAIN, MODEL, Setting.plain(0.8), hot)


def test_a_stopped_comparison_judges_as_many_repeats_as_all_ways_have() -> None:
    record = gathered([0.02, 0.02], [0.01]).record(FACTS, "the engine ended.")
    assert record is not None and record.repeats == 1
    assert sentence(record).endswith("Broken off after 3 of 6 runs: the engine ended.")
    assert headline(record, 1)[0] == "faster in one run, same text"
    assert headline(record_of(gathered([0.02] * 3, [0.01] * 3)), 1)[0] == "faster, same text"
    assert headline(record_of(gathered([0.01], [0.02])), 1)[0] == "slower in one run, same text"
    assert record_from_json(record.as_json()) == record
    older = {key: value for key, value in record.as_json().items() if key != "broken_off"}
    assert record_from_json(older) == replace(record, broken_off="")
    assert gathered([0.02], []).record(FACTS) is None


def test_a_comparison_of_several_prompts_that_was_stopped_judges_the_prompts_with_all_their_runs() -> None:
    collector = RunCollector(wanted(prompts=3))
    for run in list(collector.plan.runs)[2:-1]:
        collector.add(run, TOKENS, stats(0.01))
    record = record_of(collector)
    assert [prompt.id for prompt in record.prompts] == ["0", "1"] and record.repeats == 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "not a comparison of this version"),
        ({"outcomes": None}, "incomplete"),
        ({"outcomes": []}, "incomplete"),
        ({"settings": [{"drafter": "model", "draft_length": "long", "temperature": 0}]}, "draft_length"),
        ({"settings": [{"drafter": "none", "draft_length": 0, "temperature": 0}]}, "incomplete: IndexError"),
        ({"prompts": [{"id": 3, "category": "c", "prompt": "x"}]}, "id"),
        ({"date": "yesterday"}, "isoformat"),
        ({"pair": None}, "incomplete"),
        ({"options": {}}, "incomplete: KeyError 'verify'"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused_with_the_reason(change: dict[str, Any], why: str) -> None:
    kept = record_of(gathered([0.02], [0.01])).as_json()
    with pytest.raises(ValueError, match=why):
        record_from_json(kept | change)


def test_figures_that_a_version_lacks_or_no_longer_has_cost_no_record() -> None:
    record = record_of(gathered([0.02], [0.01]))
    kept = json.loads(json.dumps(record.as_json()))
    for outcome in kept["outcomes"]:
        for run in outcome["runs"]:
            del run["draft_share"]
            run["figure_of_another_version"] = 1
    assert record_from_json(kept) == record


def test_texts_that_differ_are_reported_with_the_place_or_the_reason() -> None:
    collector = gathered([0.01] * 3, [0.01] * 3, tokens=(1, 5, 3))
    record = record_of(collector)
    assert "differ from token 2 on" in sentence(record)
    (differing,) = collector.differing()
    assert (differing.plain, differing.drafted) == ((1, 2, 3), (1, 5, 3))
    collector.explain(differing, Difference(1, "a", "b", 0.001, 0.01))
    assert "near-ties that rounding explains" in sentence(record_of(collector))
    hot = replace(record, settings=(Setting.plain(1.0), replace(MODEL, temperature=1.0)))
    assert "as they may" in sentence(replace(hot, facts={**FACTS, "options": {"verify": "token"}}))
    two = gathered([0.01], [0.01], tokens=(1, 5, 3), of=wanted(prompts=2, repeats=1))
    assert "2 of 2 texts differ from token 2 on" in sentence(record_of(two))
    for each, margin in zip(two.differing(), (0.004, 0.001), strict=True):
        two.explain(each, Difference(1, "a", "b", margin, 0.01))
    assert "2 of 2 texts differ by near-ties" in (said := sentence(record_of(two))) and "0.004" in said


def test_a_difference_is_told_with_its_tokens_its_margin_and_whether_rounding_explains_it() -> None:
    tie, cut = Difference(1, "a", "b", 0.001, 0.01), Difference(0, "a", "", None, 0.01)
    said = "token 2: 'a' plain, 'b' drafted, 0.001 logits apart (rounding: up to 0.01): a near-tie"
    assert difference_text(tie) == said
    assert "drafted, one answer had ended (" in difference_text(cut)
    assert difference_text(cut).endswith(": NOT explained by rounding")
    (not_asked,) = gathered([0.01], [0.01], tokens=(1, 5, 3)).differing()
    assert difference_text(not_asked.unexplained) == "token 2: `mlx-spec check` says why"


def test_a_kept_comparison_is_read_back_whole_and_a_damaged_file_is_left_alone(
    tmp_path: Path, run: Cli
) -> None:
    record = record_of(gathered([0.02, 0.02], [0.01, 0.01], tokens=(1, 5, 3)))
    assert run("comparisons list").err == "No comparison was saved yet. In the chat, /compare runs one.\n"
    file = store.keep(record)
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    damaged = file.with_name("broken.json")
    damaged.write_text(file.read_text()[:-50])
    nested = file.with_name("a-nested.json")
    nested.write_text("[" * 100_000)
    assert store.kept().records == (record,)
    assert store.kept().unreadable == (damaged, nested)
    assert record_from_json(record.as_json()) == record
    assert f"\n {record.name}  a pair " in run("comparisons list").out
    assert "kind 0" in run("comparisons show last").out
    table = tmp_path / "rows.CSV"
    run("comparisons export", record.name[:9], table)
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert row["drafter"] == "model" and row["category"] == "kind 0"
    assert (row["device"], row["version_mlx"], row["pair"]) == ("a machine", "1", "a pair")
    assert (row["option_seed"], row["repeats"], row["target"]) == ("0", "2", "t")
    run("comparisons export last", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == json.loads(json.dumps(record.as_json()))
    run("comparisons export last", tmp_path / "x.txt", code=2)
    run("comparisons show other", code=2)
    store.keep(replace(record, name=f"{record.name}-2"))
    said = f"2 comparisons begin with '{record.name[:9]}'. Give more of the name."
    assert said in run("comparisons show", record.name[:9], code=2).err
    assert "kind 0" in run("comparisons show", record.name).out


def test_the_last_speed_of_a_pair_here_is_none_that_a_servers_pair_of_the_same_name_had() -> None:
    record = record_of(gathered([0.02], [0.01]))
    store.keep(record)
    said = store.last_speeds()
    server = {"name": "a pair", "target": "http://10.0.0.2:8080", "draft": None}
    there = record_of(gathered([0.002], [0.001]))
    store.keep(replace(there, name="later", facts={**FACTS, "pair": server}))
    assert len(store.kept().records) == 2 and store.last_speeds() == said


def test_several_settings_are_shown_as_one_table_with_what_they_ran_on(tmp_path: Path, run: Cli) -> None:
    several = wanted(MODEL, replace(MODEL, draft_length=1), prompts=2, repeats=1)
    store.keep(record_of(gathered([0.02], [0.01], of=several)))
    shown = run("comparisons show last").out
    assert "a machine, mlx 1, seed 0, verify coupled" in shown
    assert "model, 3 tokens" in shown and "2.00x" in shown and "kind 1" in shown
    assert "2.00-2.00" not in shown, "one run each has no spread"
    assert "2.00 times; all texts are identical." in shown
    run("comparisons export last", tmp_path / "lengths.png")
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("categories", "bars"),
    [(["kind"], ["kind"]), (["all", "red \x1b[31m", "$x$"], ["all", "red ␛[31m", "$x$", "all"])],
)
def test_a_picture_is_xml_whatever_its_words_and_draws_all_prompts_only_beside_their_categories(
    tmp_path: Path, categories: list[str], bars: list[str]
) -> None:
    record = record_of(gathered([0.01], [0.01], of=wanted(prompts=len(categories), repeats=1)))
    prompts = zip(record.prompts, categories, strict=True)
    named = {**FACTS, "pair": {**FACTS["pair"], "name": "a pair \x07"}}
    odd = replace(record, facts=named, prompts=tuple(replace(p, category=c) for p, c in prompts))
    export(odd, tmp_path / "bars.svg")
    ElementTree.parse(tmp_path / "bars.svg")
    texts = re.findall("<!-- (.*?) -->", (tmp_path / "bars.svg").read_text())
    assert [text for text in texts if text in bars] == bars
    assert any(text.startswith("a pair ␇: ") for text in texts)


def test_every_drafter_keeps_its_color_where_it_chooses_its_own_lengths_and_no_two_lines_one_name(
    tmp_path: Path,
) -> None:
    settings = [
        Setting(drafter, length, temperature)
        for drafter in ("model", "lookup")
        for length in (1, None)
        for temperature in (0.0, 0.8)
    ]
    export(record_of(gathered([0.01], [0.01], of=wanted(*settings, repeats=1))), tmp_path / "lines.svg")
    picture = (tmp_path / "lines.svg").read_text()
    assert len(set(re.findall(r"stroke-dasharray: [^\"]*?stroke: (#\w+)", picture))) == 4
    names = {f"{drafter}{at}" for drafter in ("model", "lookup") for at in ("", " at 0.8")}
    for how in ("by length", "length auto"):
        assert all(picture.count(f"<!-- {name}, {how} -->") == 1 for name in names)


def test_the_names_of_lines_lie_over_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr("app.compare.plots.write_picture", lambda figure, file: drawn.append(figure))
    settings = [Setting(f"drafter {n}", length, 0.0) for n in range(9) for length in (1, 2, None)]
    draw(Path("lines.png"), record_of(gathered([0.01], [0.01], of=wanted(*settings, repeats=1))))
    (figure,) = drawn
    figure.draw_without_rendering()
    (names,), (axes,) = figure.legends, figure.axes
    assert axes.get_legend() is None and len(names.get_texts()) == 18
    assert not names.get_window_extent().overlaps(axes.get_tightbbox() or axes.bbox)
    assert axes.bbox.height > figure.bbox.height / 4


def test_the_lines_of_a_plot_begin_with_plain_decoding() -> None:
    record = record_of(gathered([0.02] * 2, [0.01] * 2))
    (line,) = series(record)
    assert line.lengths == (0, 3)
    assert line.speeds == pytest.approx((50, 100))


@pytest.mark.parametrize("settings", [(MODEL,), tuple(replace(MODEL, draft_length=n) for n in (1, 2, None))])
def test_no_word_of_a_picture_is_cut_off_at_its_edges(
    settings: tuple[Setting, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.text import Text  # every worker of pytest would import it

    drawn: list[Any] = []
    monkeypatch.setattr("app.compare.plots.write_picture", lambda figure, file: drawn.append(figure))
    facts = FACTS | {
        "pair": FACTS["pair"] | {"name": "a-pair-with-a-long-name"},
        "device": "AMD EPYC 7B13 64-Core Processor (cpu), 2 threads",
        "versions": {"mlx-spec": "0.1.0", "mlx": "0.32.4", "mlx-lm": "0.32.2"},
        "options": FACTS["options"] | {"max_tokens": 512, "seed": 1234567},
    }
    collector = gathered([0.02], [0.01], of=wanted(*settings, prompts=2, repeats=1))
    record = collector.record(facts, f"the engine ended. {'It said more than a line holds. ' * 4}")
    assert record is not None
    export(record, tmp_path / "picture.png")
    (figure,) = drawn
    figure.draw_without_rendering()
    # Tick labels may lie outside of the visible part of an axis.
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and len(text.get_text()) > 4]
    assert len(texts) > 3
    for text in texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1 and 0 <= box.y0, text.get_text()


def test_the_text_of_several_runs_has_the_accepted_share_of_the_verdict() -> None:
    """Lengths chosen by measured times differ from run to run."""
    one, other = Round((1, 2), 1, (1, 5), "model", 0.1), Round((1, 2), 2, (1, 2, 3), "model", 0.1)
    runs = [summarise([one, one]), summarise([one, other])]
    collector = RunCollector(wanted(repeats=2))
    for run in collector.plan.runs:
        collector.add(run, TOKENS, runs[run.repeat] if run.setting else stats(0.1), [])
    assert "accepted 62%, 1.25 per round" in headline(record_of(collector), 1)[1]
    assert drafting_text(runs) == "62% accepted"


def test_what_drafting_did_is_told_by_rounds_where_it_hardly_took_place() -> None:
    """One accepted token in 300 rounds gives no meaningful acceptance rate."""
    drafted, plain = Round((1, 2), 1, (1, 5), "model", 0.1), Round((), 0, (1,), "none", 0.1)
    assert drafting_text([summarise([plain] * 9)]) == ""
    assert drafting_text([summarise([drafted, *[plain] * 299])]) == "drafted in 0.33% of rounds"
    assert drafting_text([summarise([drafted, plain])]) == "50% accepted"
    assert drafting_text([summarise([drafted])]) == "50% accepted"
    three, one = RunCollector(wanted(repeats=1)), RunCollector(wanted(repeats=1))
    for run in three.plan.runs:
        three.add(run, TOKENS, summarise([plain] * len(TOKENS)), [])
        one.add(run, TOKENS[:1], summarise([plain]), [])
    assert "next to nothing was drafted and accepted" in headline(record_of(three), 1)[1]
    assert sentence(record_of(one)).startswith("no speed was measured")


def test_the_headline_gives_the_reason_why_a_higher_speed_is_no_gain() -> None:
    """With one token in 100 rounds accepted, the speeds differ for another reason."""
    drafted, plain = Round((1, 2), 1, (1, 5), "model", 0.1), Round((), 0, (1,), "none", 0.1)
    collector = RunCollector(wanted(repeats=1))
    for run in collector.plan.runs:
        rounds = summarise([drafted, *[plain] * 99]) if run.setting else stats(0.2)
        collector.add(run, TOKENS, rounds, [])
    gain, why = headline(record_of(collector), 1)
    assert gain.startswith("no gain") and why.startswith(
        "one run each; next to nothing was drafted and accepted"
    )
