"""`make bench-real` computes ratios correctly, explains missed bars, and resumes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.compare.prompts import BenchPrompt
from app.shell.errors import BadInput
from benchmarks.peers.answering import Answer, Played
from benchmarks.peers.records import Record
from benchmarks.real import bars
from benchmarks.real.__main__ import choose, main
from benchmarks.real.figures import Figures
from benchmarks.real.page import page


def record(
    side: str, prompt: str, seconds: float, rounds: str | None = None, phase: str = "timed",
    temperature: float = 0.0, tokens: Sequence[int] = range(11),
) -> Record:  # fmt: skip
    """10 tokens after a first second. `lookup 3/2`: a round with 3 drafted and 2 accepted tokens."""
    played = [Played("none", 0, 0, 1.0)]
    for each in rounds.split(", ") if rounds else ():
        drafter, of = each.split()
        drafted, accepted = map(int, of.split("/"))
        played.append(Played(drafter, drafted, accepted, 0.1 * (1 + drafted)))
    answer = Answer(
        tokens=tuple(tokens), seconds=1 + seconds, first_seconds=1.0, first_tokens=1, passes=len(played),
        processor_seconds=seconds / 2, rounds=tuple(played) if rounds else (),
    )  # fmt: skip
    return Record(phase, 0, temperature, prompt, prompt.split()[0], side, side, None, answer)


PLAIN_ROUNDS = ", ".join(["none 0/0"] * 10)
TIMED = [
    record("plain", "qa 1", 1.0, PLAIN_ROUNDS),
    record("plain", "qa 2", 1.0, PLAIN_ROUNDS),
    record("plain", "rag 1", 2.0, PLAIN_ROUNDS),
    record("auto", "qa 1", 0.5, "lookup 3/3, lookup 3/0, none 0/0, lookup 2/2"),
    record("auto", "qa 2", 2.0, "lookup 3/0, none 0/0"),
    record("auto", "rag 1", 1.0, "lookup 3/2"),
]
COUNTED = [
    record("lookup 3", "qa 1", 1.0, "lookup 3/3, lookup 3/1", "counted"),
    record("lookup 3", "qa 2", 1.0, "lookup 3/0", "counted"),
    record("lookup 3", "rag 1", 1.0, "lookup 1/1", "counted"),
]


def test_a_gain_is_of_decoding_over_all_tokens_and_in_the_middle_of_the_prompts() -> None:
    gain = Figures(TIMED).gain("auto", "all", 0.0)
    assert gain is not None
    assert gain.total == pytest.approx(4 / 3.5) and gain.with_reading == pytest.approx(7 / 6.5)
    assert gain.middle == pytest.approx(2.0) and gain.quartiles == pytest.approx((1.25, 2.0))
    assert gain.processor == pytest.approx(4 / 3.5)
    assert gain.tokens_per_pass == pytest.approx(33 / (5 + 3 + 2))
    assert Figures(TIMED).gain("lookup", "all", 0.0) is None


def test_acceptance_is_by_depth_and_rounds_cost_what_they_took() -> None:
    figures = Figures(TIMED, COUNTED)
    assert figures.rates("lookup 3") == pytest.approx((3 / 4, 1 / 2, 1.0))
    assert figures.rates("lookup 3", "rag") == (1.0,)
    assert figures.tokens_per_pass("lookup 3", "qa") == pytest.approx(22 / 5)
    assert figures.costs("lookup") == pytest.approx({1: 2.0, 2: 3.0, 3: 4.0})
    best = figures.best_depth("lookup 3", "lookup")
    assert best is not None and (best.length, best.tokens) == (1, pytest.approx(1.75))


def test_texts_are_compared_at_every_temperature_but_with_mlx_lm_at_0_only() -> None:
    other = range(1, 12)
    figures = Figures(
        [
            *TIMED,
            record("plain", "qa 1", 1.0, PLAIN_ROUNDS, temperature=0.8),
            record("auto", "qa 1", 1.0, "lookup 3/3", temperature=0.8, tokens=other),
            record("mlx-lm plain", "qa 1", 1.0, temperature=0.8, tokens=other),
            record("mlx-lm plain", "qa 1", 1.0, tokens=other),
        ],
        COUNTED,
    )
    assert [(r.side, r.temperature) for r in figures.different()] == [("auto", 0.8), ("mlx-lm plain", 0.0)]
    assert figures.same_texts() == {"auto": (3, 4), "mlx-lm plain": (0, 1), "lookup 3": (3, 3)}
    text = page(figures, "pair", "facts", ["something"], {"auto, qa 1, temperature 0.8": "a near-tie"})
    assert "6 of 8 texts" in text and "- auto, qa 1, temperature 0.8: a near-tie" in text
    assert "- Left out: something" in text


def test_a_run_that_counts_no_tokens_per_pass_says_so_in_place_of_a_table() -> None:
    text = page(Figures(TIMED), "pair", "facts", [], {})
    assert text.count("Not counted in this run") == 2 and "accepted by depth" not in text


def test_a_missed_bar_is_explained_by_what_was_gained_and_what_it_cost() -> None:
    text = "\n".join(bars.lines(Figures(TIMED, COUNTED)))
    assert "- **MISSED** auto, all, temperature 0: 1.14, wanted 1.50" in text
    assert "- **MISSED** auto, qa, temperature 0: 0.80, wanted 0.97" in text
    assert "- HOLDS auto, rag, temperature 0: 2.00, wanted 0.97" in text
    assert "3.30 tokens per pass, and a pass takes 2.89 plain rounds" in text
    assert "lookup 3: accepted by depth 0.75 0.50 1.00" in text
    (bound,) = bars.bounds(Figures(TIMED, COUNTED))
    assert "lookup drafts in 57% of its rounds; time by draft length, in plain rounds: 1: 2.00" in bound
    assert "0.8" not in {f"{bar.temperature:g}" for bar in bars.bars(Figures(TIMED))}, "was not measured"


def test_kinds_take_turns_so_that_a_run_cut_short_has_some_of_all() -> None:
    prompts = [BenchPrompt(f"{kind}{i}", kind, "?") for kind in ("qa", "rag") for i in range(3)]
    assert [p.id for p in choose(prompts, [], 2)] == ["qa0", "rag0", "qa1", "rag1"]
    assert [p.id for p in choose(prompts, ["rag"], None)] == ["rag0", "rag1", "rag2"]
    with pytest.raises(BadInput, match="no prompts of the kind poems. Use some of: qa, rag"):
        choose(prompts, ["poems"], None)


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_prints_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(
        json.dumps({"id": f"p{i}", "category": "qa", "prompt": "What is a draft?"}) + "\n" for i in range(2)
    ))  # fmt: skip
    asked: dict[str, Any] = {
        "prompts": prompts, "pair": "builtin", "keep": tmp_path / "kept", "kinds": "", "tokens": 12,
        "temperatures": "0,0.8", "drafters": "lookup", "depth": 3,
    }  # fmt: skip
    main(**asked, limit=1)
    records = tmp_path / "kept" / "records.jsonl"
    first = records.read_text()
    main(**asked, limit=2)
    assert records.read_text().startswith(first)
    found = capsys.readouterr().out
    assert found.count("| auto |") == 4 and "| lookup 3 |" in found and "texts equal those" in found
    whole = records.read_text()
    main(**asked, limit=2)
    assert records.read_text() == whole
