"""`train --hours`: a training that ends in time, with low learning rates."""

import time
from types import SimpleNamespace

import pytest

from app.cli import main
from models.training import fitting
from models.training.kinds import Kind
from tests.app.commands.test_train_killed import unfinished
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair

pytestmark = pytest.mark.usefixtures("quick_training")


def test_a_dry_run_says_when_the_training_ends(tiny_pair: TinyPair, run: Cli) -> None:
    train = ["train", tiny_pair.target, "--dry-run"]
    assert run(*train).out.endswith(". --hours sets a time limit.\n")
    assert run(*train, "--hours", "2").out.endswith(". --hours ends it after 2.0 h.\n")


def test_an_end_that_comes_nearer_is_reached_with_low_rates(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates, honest = [], fitting.Fit.learn
    monkeypatch.setattr(fitting.Fit, "learn", lambda fit, batch: rates.append(fit.rate) or honest(fit, batch))
    monkeypatch.setattr(fitting, "EPOCHS", 400)
    monkeypatch.setattr(fitting.Pace, "reached", lambda pace, done, total, seconds: min(total, 200))
    assert main(["train", str(tiny_pair.target), "--hours", "1"]) == 0
    assert len(rates) < 9 and rates[-1] < 0.2


def test_the_time_for_texts_ends_after_any_of_them_and_no_more_of_it_is_said_to_be_left(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, honest = [], Kind.study
    left, step = [], fitting.Step
    monkeypatch.setattr(Kind, "study", lambda self, *given: read.append(1) or honest(self, *given))
    a_third = 3600 * fitting.WRITING / 3
    monkeypatch.setattr(
        fitting, "time", SimpleNamespace(monotonic=lambda: len(read) * a_third, time_ns=time.time_ns)
    )
    monkeypatch.setattr(fitting, "Step", lambda *given: left.append(given[4]) or step(*given))
    monkeypatch.setattr(fitting.Pace, "left", lambda *given: 1e6)
    monkeypatch.setattr(fitting, "EPOCHS", 0)
    assert main(["train", str(tiny_pair.target), "--hours", "1"]) == 0
    assert len(read) == 3 and left == pytest.approx([2 * a_third, a_third, 0])


def test_a_slow_moment_does_not_bring_the_end_nearer_for_good(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 2)
    seen, slow = [], iter([True])
    honest = fitting.Fit.learn
    monkeypatch.setattr(
        fitting.Fit, "learn", lambda fit, batch: seen.append(batch.count) or honest(fit, batch)
    )
    reached = fitting.Pace.reached
    monkeypatch.setattr(
        fitting.Pace, "reached", lambda *given: given[1] + 1 if next(slow, False) else reached(*given)
    )
    assert main(["train", str(tiny_pair.target), "--hours", "1"]) == 0
    files = unfinished(tiny_pair, "eagle").glob("texts-*")
    assert sum(seen) >= 2 * sum(len(text.tokens) for file in files for text in fitting.parted(file)[0]) > 0
