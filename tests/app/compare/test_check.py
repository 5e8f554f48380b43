"""`check` proves that drafting keeps the text, and notices when it does not."""

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import mlx.core as mx
import pytest

from app.compare import check
from app.compare.check import verdict
from app.compare.collector import RunCollector
from app.engine.difference import Difference
from app.engine.same_text import TOLERANCE, first_difference
from app.settings.options import AnswerOptions
from mlx_spec.stats import summarise
from mlx_spec.verify import rules as verify
from mlx_spec.verify.history import History
from mlx_spec.verify.verifiers import RoundVerifier, Verifier
from models import load_pair
from tests.app.compare.scripted_runs import measured
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair
from tests.models.tiny_models import edit

QUICK = "check --max-tokens 6 --prompts"


@pytest.fixture
def one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of other things: drafts of three tokens alone."""
    monkeypatch.setattr(check, "LENGTHS", (0, 3))


def test_a_sound_pair_is_lossless_over_all_drafters_and_lengths(
    tiny_pair: TinyPair, one_prompt: Path, run: Cli
) -> None:
    report = run.json(QUICK, one_prompt, *tiny_pair.arguments)
    assert (report["lossless"], report["unexplained"]) == (True, 0)
    drafters = {(row["mode"], row["drafter"]) for row in report["rows"]}
    assert drafters == {(m, d) for m in ("greedy", "sampled") for d in ("model", "lookup", "auto")}
    assert {row["draft_length"] for row in report["rows"]} == {0, 1, 2, 3, 4, 5}
    assert sum(row["accepted"] for row in report["rows"]) > 0


@pytest.mark.usefixtures("one_length")
@pytest.mark.parametrize(
    ("given", "drafters"),
    [
        ("--draft none", {"lookup", "recycling", "lookahead", "auto"}),
        ("--drafter {draft} --drafter lookup", {"lookup", "model", "lookup+model"}),
    ],
    ids=["all that need no draft model", "those that are named"],
)
def test_every_drafter_is_checked_alone_and_together_with_the_others(
    given: str, drafters: set[str], tiny_pair: TinyPair, one_prompt: Path, run: Cli
) -> None:
    pair = f"--target {tiny_pair.target} {given.format(draft=tiny_pair.draft)}"
    assert {row["drafter"] for row in run.json(QUICK, one_prompt, *pair.split())["rows"]} == drafters


@pytest.mark.parametrize("name", ["eagle", "medusa", "layer_skip"])
def test_a_drafter_that_the_pair_lacks_is_refused_with_how_to_make_one(
    name: str, tiny_pair: TinyPair, run: Cli
) -> None:
    err = run("check", *tiny_pair.arguments, "--drafter", name, code=2).err
    makes = f"Training makes one: mlx-spec train TARGET --kind {name}."
    assert f"target has no drafter {name}. It has: lookup, model. {makes}" in err


@pytest.mark.parametrize("command", ["check", "bench"])
def test_a_built_in_prompt_that_is_too_long_is_refused_before_measuring_with_the_way_to_give_others(
    command: str, tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    target = copytree(tiny_pair.target, tmp_path / "target")
    edit(target / "config.json", max_position_embeddings=64)
    err = run(command, "--target", str(target), code=2).err
    assert "the model's context holds 64. Give shorter ones: --prompts FILE." in err
    assert "Measuring" not in err


def accepts_one_token_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    right = verify.coupled

    def careless(draft: mx.array, scores: mx.array) -> tuple[mx.array, mx.array]:
        accepted, bonus = right(draft, scores)
        return mx.minimum(accepted + 1, draft.shape[0]), bonus

    monkeypatch.setattr(verify, "coupled", careless)


def draws_its_own_noise_where_it_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Verifier.for_round

    def elsewhere(self: Verifier, history: History, length: int | mx.array, depth: int) -> RoundVerifier:
        return right(self, history, length + 1000 if depth else length, depth)

    monkeypatch.setattr(Verifier, "for_round", elsewhere)


@pytest.mark.usefixtures("one_length")
@pytest.mark.parametrize(
    ("breaks", "modes"),
    [(accepts_one_token_too_many, {"greedy", "sampled"}), (draws_its_own_noise_where_it_drafts, {"sampled"})],
)
def test_an_engine_whose_text_depends_on_drafting_fails_the_check(
    breaks: Callable[[pytest.MonkeyPatch], None],
    modes: set[str],
    tiny_pair: TinyPair,
    one_prompt: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Cli,
) -> None:
    breaks(monkeypatch)
    report = run.json(QUICK, one_prompt, *tiny_pair.arguments, code=1)
    assert not report["lossless"] and report["unexplained"] > 0 and "NOT lossless" in report["verdict"]
    assert {row["mode"] for row in report["rows"] if not row["same_text"]} <= modes
    printed = run(QUICK, one_prompt, *tiny_pair.arguments, code=1)
    assert "\n sampled  lookup " in printed.out and report["verdict"] in printed.out
    assert printed.err.count("): NOT explained by rounding") == report["unexplained"]


def test_ctrl_c_in_check_keeps_what_was_compared(
    tiny_pair: TinyPair, one_prompt: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    add, answered = RunCollector.add, []

    def pressed_at_the_third(*answer: Any) -> None:
        answered.append(answer)
        if len(answered) == 4:  # the plain run came first
            signal.raise_signal(signal.SIGINT)
        add(*answer)

    monkeypatch.setattr(RunCollector, "add", pressed_at_the_third)
    printed = run(QUICK, one_prompt, *tiny_pair.arguments, "--json", code=130)
    report = json.loads(printed.out)
    assert "Broken off after 2 texts." in printed.err
    assert (report["complete"], report["compared"]) == (False, 2)
    assert report["pair"]["target"] == str(tiny_pair.target)


def test_the_verdict_counts_what_is_identical_tied_different_and_not_drafted() -> None:
    same = measured([1], [1])
    idle = replace(same, drafted=(summarise(()),))
    tied, wrong = (measured([1], [1], difference=Difference(1, "a", "b", m, 0.1)) for m in (0.01, None))
    assert verdict([same]) == "lossless: the one text is identical to the plain one."
    assert verdict([same] * 2) == "lossless: all 2 texts are identical to the plain ones."
    assert verdict([same, tied]) == "lossless: 1 of 2 texts are identical, 1 part at a near-tie."
    assert verdict([same, tied, wrong]).startswith("NOT lossless: 1 of 3 texts differ")
    assert verdict([same, idle, same]).endswith("plain ones; nothing was drafted for 1 of them.")
    assert verdict([idle]) == "lossless: the one text is identical to the plain one; nothing was drafted."


def test_the_margin_is_the_distance_of_the_two_tokens_in_logits(tiny_pair: TinyPair) -> None:
    pair = load_pair(target=str(tiny_pair.target), draft=str(tiny_pair.draft))
    prompt = list(b"some text")
    logits = pair.engine.next_scores(prompt, AnswerOptions())
    order: list[int] = mx.argsort(-logits).tolist()  # type: ignore[assignment]
    best, other = order[0], order[7]
    found = first_difference(pair, prompt, AnswerOptions(), [best, 1], [other, 2])
    assert found is not None and found.margin is not None
    assert found.position == 0
    assert found.margin == pytest.approx((logits[best] - logits[other]).item(), rel=1e-4)
    assert found.tolerance == pytest.approx(TOLERANCE["float32"] * abs(logits).max().item())
    cut = first_difference(pair, prompt, AnswerOptions(), [best, other], [best])
    assert cut is not None and cut.margin is None and not cut.near_tie
