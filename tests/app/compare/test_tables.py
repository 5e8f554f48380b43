"""Tables and pictures of a comparison show what was measured, and nothing in place of what was not."""

import csv
import re
from dataclasses import replace
from pathlib import Path

from app.compare import store
from app.compare.collector import RunCollector
from app.compare.export import export
from app.compare.record import Record
from app.compare.words import headline, sentence
from tests.app.compare.scripted_runs import MODEL, TOKENS, record_of, stats, wanted
from tests.app.run_command import Cli

HOT = replace(MODEL, temperature=0.8)


def one_token_at_first() -> Record:
    """Two prompts; only the second one's answers at temperature 0.8 have a second token, drafted slower."""
    collector = RunCollector(wanted(MODEL, HOT, prompts=2, repeats=1))
    for run in collector.plan.runs:
        setting = collector.plan.settings[run.setting]
        tokens = TOKENS if setting.temperature and run.prompt else TOKENS[:1]
        collector.add(run, tokens, stats(0.02 if setting.drafts else 0.01, tokens))
    return record_of(collector)


def test_where_no_answer_has_a_second_token_no_ratio_is_shown(tmp_path: Path, run: Cli) -> None:
    store.keep(record := one_token_at_first())
    shown = run("comparisons show last").out
    assert re.search(r"model, 3 tokens +- +- +- ", shown) and "1.00x" not in shown
    assert re.search(r"model, 3 tokens at 0\.8 +- +0\.50x", shown), "by category"
    assert sentence(record).startswith("Best: model, 3 tokens at 0.8, drafting is slower, 0.50 times")
    greedy = replace(
        record, settings=record.settings[:2], outcomes=tuple(o for o in record.outcomes if o.setting < 2)
    )
    export(greedy, tmp_path / "bars.svg")
    words = re.findall("<!-- *(.*?) *-->", (tmp_path / "bars.svg").read_text())
    assert words.count("-") == 3 and not any(word.startswith("1.00") for word in words)
    (verdict,) = greedy.as_json()["verdicts"].values()
    assert verdict["ratio"] is verdict["ratio_spread"] is None
    export(greedy, tmp_path / "rows.csv")
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert {row[name] for row in rows for name in ("ratio", "ratio_low", "ratio_high")} == {""}
    store.delete(record)
    store.keep(greedy)
    assert store.last_speeds() == {}


def test_one_run_has_no_range_in_a_picture(tmp_path: Path) -> None:
    for repeats, ranges in ((1, 0), (2, 1)):
        collector = RunCollector(wanted(repeats=repeats))
        for run in collector.plan.runs:
            collector.add(run, TOKENS, stats(0.01 if run.setting else 0.02))
        export(record_of(collector), tmp_path / "bars.svg")
        assert (tmp_path / "bars.svg").read_text().count("<!-- 2.00-2.00 -->") == ranges


def test_where_no_answer_has_a_second_token_no_sentence_gives_a_ratio_or_a_spread() -> None:
    collector = RunCollector(wanted(MODEL, replace(MODEL, draft_length=4)))
    for run in collector.plan.runs:
        collector.add(run, TOKENS[:1], stats(0.01, TOKENS[:1]))
    said = (sentence(record := record_of(collector)), *headline(record, 1))
    assert said[0] == "no speed was measured: no answer has a second token; all texts are identical."
    assert not any("1.00 t" in each for each in said), said
