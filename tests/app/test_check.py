"""`check` proves the text is the target's own, and notices when it is not."""

import json
import signal
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from app.cli import main
from app.compare.check.lossless import Checked, Setting
from app.compare.check.report import verdict
from app.engine.difference import Difference
from app.engine.same_text import TOLERANCE, first_difference
from mlx_spec.verify import rules as verify
from tests.app.tiny_pair import TinyPair

QUICK = ["--max-tokens", "10"]


def run(pair: list[str], prompts: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["check", *pair, "--prompts", str(prompts), *QUICK, "--json"])
    return code, json.loads(capfd.readouterr().out)


def test_a_sound_pair_is_lossless_over_all_drafters_and_lengths(
    tiny_pair: TinyPair, one_prompt: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, report = run(tiny_pair.arguments, one_prompt, capfd)
    assert (code, report["lossless"], report["unexplained"]) == (0, True, 0)
    drafters = {(row["mode"], row["drafter"]) for row in report["rows"]}
    assert drafters == {(m, d) for m in ("greedy", "sampled") for d in ("model", "lookup", "auto")}
    assert {row["draft_length"] for row in report["rows"]} == {0, 1, 2, 3, 4, 5}
    assert sum(row["accepted"] for row in report["rows"]) > 0


def test_without_a_draft_model_lookup_is_checked(
    tiny_pair: TinyPair, one_prompt: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, report = run(["--target", str(tiny_pair.target), "--draft", "none"], one_prompt, capfd)
    assert code == 0
    assert {row["drafter"] for row in report["rows"]} == {"lookup"}


@pytest.fixture
def careless_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepts one token too many."""
    right = verify.coupled

    def careless(draft: mx.array, target: mx.array, gumbel: mx.array | None) -> tuple[mx.array, mx.array]:
        accepted, bonus = right(draft, target, gumbel)
        return mx.minimum(accepted + 1, draft.shape[0]), bonus

    monkeypatch.setattr(verify, "coupled", careless)


@pytest.mark.usefixtures("careless_engine")
def test_an_engine_that_accepts_one_token_too_many_fails_the_check(
    tiny_pair: TinyPair, one_prompt: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, report = run(tiny_pair.arguments, one_prompt, capfd)
    assert (code, report["lossless"]) == (1, False)
    assert report["unexplained"] > 0
    assert "NOT lossless" in report["verdict"]


def test_a_sampled_text_that_depends_on_drafting_fails_the_check(
    tiny_pair: TinyPair,
    one_prompt: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    right = verify.coupled

    def own_noise(draft: mx.array, target: mx.array, gumbel: mx.array | None) -> tuple[mx.array, mx.array]:
        if gumbel is not None and draft.shape[0]:
            gumbel = gumbel[:, ::-1]
        return right(draft, target, gumbel)

    monkeypatch.setattr(verify, "coupled", own_noise)
    code, report = run(tiny_pair.arguments, one_prompt, capfd)
    assert code == 1
    assert {row["mode"] for row in report["rows"] if not row["same_text"]} == {"sampled"}


def test_ctrl_c_in_check_keeps_what_was_compared(
    tiny_pair: TinyPair,
    one_prompt: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    compared = []

    def pressed_at_the_third(*arguments: Any) -> Difference | None:
        compared.append(arguments)
        if len(compared) == 3:
            signal.raise_signal(signal.SIGINT)
        return first_difference(*arguments)

    monkeypatch.setattr("app.compare.check.lossless.first_difference", pressed_at_the_third)
    code = main(["check", *tiny_pair.arguments, "--prompts", str(one_prompt), *QUICK, "--json"])
    told = capfd.readouterr()
    report = json.loads(told.out)
    assert code == 130 and "Broken off after 2 texts." in told.err
    assert (report["complete"], report["compared"]) == (False, 2)


def test_the_verdict_on_one_text_speaks_of_one() -> None:
    one = Checked("a", Setting("greedy", "lookup", 1), 5, 1, None)
    assert verdict([one]) == "lossless: the one drafted text is identical to the plain one."
    assert verdict([one, one]) == "lossless: all 2 drafted texts are identical to the plain ones."


def test_a_difference_is_a_near_tie_only_within_what_rounding_can_do() -> None:
    assert Difference(3, "a", "b", margin=1e-4, tolerance=2e-4).near_tie
    assert not Difference(3, "a", "b", margin=3e-4, tolerance=2e-4).near_tie
    assert not Difference(3, "a", "", margin=None, tolerance=2e-4).near_tie


def test_the_margin_is_the_distance_of_the_two_tokens_in_logits(tiny_pair: TinyPair) -> None:
    from app.commands.arguments import chosen_pair, loaded_pair
    from mlx_spec.types import Options

    pair = loaded_pair(chosen_pair(None, str(tiny_pair.target), str(tiny_pair.draft), None))
    prompt = list(b"some text")
    logits = pair.engine.next_scores(prompt, Options())
    order: list[int] = mx.argsort(-logits).tolist()  # type: ignore[assignment]
    best, other = order[0], order[7]
    found = first_difference(pair, prompt, Options(), [best, 1], [other, 2])
    assert found is not None and found.margin is not None
    assert found.position == 0
    assert found.margin == pytest.approx((logits[best] - logits[other]).item(), rel=1e-4)
    assert found.tolerance == pytest.approx(TOLERANCE["float32"] * abs(logits).max().item())
    cut = first_difference(pair, prompt, Options(), [best, other], [best])
    assert cut is not None and cut.margin is None and not cut.near_tie
