"""The costs of drafting are measured once, saved, used, and discarded when circumstances change."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.compare.tune import best_length, pays_from
from app.engine import drafting_state
from mlx_spec import Options
from mlx_spec import calibrate as measuring
from mlx_spec.calibrate import Kind, OneKind, calibrate
from mlx_spec.drafters.guess import Guess
from mlx_spec.policy.costs import Costs, RoundCost
from models import load_pair
from models.pairs.pair import PairSpec, Source
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair


@pytest.fixture(autouse=True)
def measures_for_real_and_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_spec.calibrate.SECONDS", 0.1)
    monkeypatch.setattr(measuring, "FAR", 128)


def loaded(pair: TinyPair):
    return load_pair(target=str(pair.target), draft=str(pair.draft))


def test_what_was_learned_is_used_by_the_next_process_unless_version_machine_or_model_is_another(
    tiny_pair: TinyPair,
) -> None:
    pair = loaded(tiny_pair)
    assert not drafting_state.restore(pair), "nothing was measured yet"
    calibrate(pair.engine)
    list(pair.engine.generate([5, 6, 7], Options(max_tokens=60)))
    drafting_state.save(pair)
    learned = pair.engine.controller.learned
    assert learned.costs.plain and learned.acceptance
    again = loaded(tiny_pair)
    assert drafting_state.restore(again)
    assert again.engine.controller.learned == learned
    file = drafting_state.state_file(pair)
    kept = json.loads(file.read_text())
    circumstances = kept["circumstances"]
    others = {
        "mlx": "0.1", "mlx-lm": "0.1", "device": "another", "weights": 1, "method": 1,
        "compiled": not circumstances["compiled"],
    }  # fmt: skip
    for name, value in others.items():
        file.write_text(json.dumps({**kept, "circumstances": {**circumstances, name: value}}))
        again = loaded(tiny_pair)
        assert not drafting_state.restore(again), name
        assert again.engine.controller.costs.plain is None


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"x": 1}', "not json", '{"circumstances": 1, "learned": 2}', "[" * 100_000],
    ids=lambda content: content[:9],
)
def test_a_file_that_cannot_be_used_holds_nothing_and_is_written_over(
    tiny_pair: TinyPair, content: str
) -> None:
    pair = loaded(tiny_pair)
    file = drafting_state.state_file(pair)
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert not drafting_state.restore(pair)
    drafting_state.save(pair)
    assert drafting_state.restore(pair)


def test_two_that_keep_at_once_spoil_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.shell.machine.device_name", lambda: "test")
    spec = PairSpec("tiny", Source("t"), Source("d"))

    def pair(letter: str) -> Any:
        controller = SimpleNamespace(learned={"costs": letter * 20_000})
        return SimpleNamespace(
            spec=spec, macs=1, memory_bytes=1, engine=SimpleNamespace(controller=controller, drafter_names=())
        )

    def keep_often(letter: str) -> bool:
        return all(drafting_state.save(pair(letter)) for _ in range(3))

    file = drafting_state.state_file(pair("a"))
    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(keep_often, letter) for letter in "ab"]
        while not all(writer.done() for writer in writers):
            if file.exists():
                assert json.loads(file.read_text())["learned"]["costs"] in ("a" * 20_000, "b" * 20_000)
    assert all(writer.result() for writer in writers)
    assert list(file.parent.iterdir()) == [file], "nothing half written is left behind"


def test_the_first_use_of_a_pair_measures_says_so_and_the_second_does_not(
    tiny_pair: TinyPair, run: Cli
) -> None:
    command = ["generate", "--prompt", "hello", "--max-tokens", "8", *tiny_pair.arguments]
    run(*command, "--draft-length", "2")
    assert "Measuring" not in run(*command, "--no-draft").err, "nothing adapts"
    assert (
        "Measuring what drafting costs here, once (about 5 s, longer while kernels are built; Ctrl+C skips)"
        in run(*command).err
    )
    assert "Measuring" not in run(*command).err


def test_what_cannot_be_kept_is_said_with_its_place(tiny_pair: TinyPair, tmp_path: Path, run: Cli) -> None:
    (tmp_path / "mlx-spec").write_text("a file where the folder should be")
    printed = run("tune", *tiny_pair.arguments)
    assert f"Not saved: {tmp_path / 'mlx-spec' / 'drafting'}" in printed.err
    assert "rows of a pass" in printed.out


def test_measuring_can_be_skipped_and_answers_learn_instead(tiny_pair: TinyPair) -> None:
    pair = loaded(tiny_pair)
    steps = []
    calibrate(pair.engine, lambda done, total: steps.append((done, total)), lambda: len(steps) == 2)
    assert len(steps) == 2
    measured = pair.engine.controller.learned.costs
    list(pair.engine.generate([5, 6, 7], Options(max_tokens=100, drafter="none")))
    assert pair.engine.controller.learned.costs == measured, "it has nothing to choose from"
    list(pair.engine.generate([5, 6, 7], Options(max_tokens=100)))
    learned = pair.engine.controller.learned.costs
    assert learned.plain and learned != measured


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Once, as the first kind of round of this drafter is about to be timed."""
    presses = [signal.SIGINT]

    def pressed(kind: Kind) -> OneKind:
        if kind.drafter == at and presses:
            signal.raise_signal(presses.pop())
        return OneKind(kind)

    monkeypatch.setattr(measuring, "OneKind", pressed)


def test_ctrl_c_in_tune_says_that_it_was_cut_short_and_shows_what_was_timed(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    press_ctrl_c(monkeypatch, at=Guess.name)
    monkeypatch.setattr("mlx_spec.calibrate.SECONDS", 60.0)
    printed = run("tune", *tiny_pair.arguments, code=130)
    assert "Measuring was cut short" in printed.err
    assert "\n 4  " in printed.out and "\n 2  " not in printed.out, "one row and the first draft's"
    assert "one more token drafted by model costs" in printed.out and "not timed" not in printed.out


def test_a_tune_that_timed_no_drafting_round_shows_no_table_of_lengths(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    press_ctrl_c(monkeypatch, at="none")
    out = run("tune", *tiny_pair.arguments, code=130).out
    assert "rows of a pass" in out and "accepted" not in out
    press_ctrl_c(monkeypatch, at="none")
    assert run.json("tune", *tiny_pair.arguments, code=130)["complete"] is False


def test_a_tune_that_is_cut_short_keeps_what_was_known(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    run("tune", *tiny_pair.arguments)
    file = drafting_state.state_file(loaded(tiny_pair))
    known = file.read_bytes()
    press_ctrl_c(monkeypatch, at="none")
    assert "what was known before is kept" in run("tune", *tiny_pair.arguments, code=130).err
    assert file.read_bytes() == known


@pytest.mark.parametrize("absurd", [5e-324, 1e308])
def test_costs_that_no_machine_has_are_not_restored(tiny_pair: TinyPair, absurd: float, run: Cli) -> None:
    run("tune", *tiny_pair.arguments)
    pair = loaded(tiny_pair)
    file = drafting_state.state_file(pair)
    kept = json.loads(file.read_text())
    kept["learned"]["costs"]["plain"][0] = absurd
    file.write_text(json.dumps(kept))
    assert not drafting_state.restore(pair)


def test_best_lengths_follow_from_costs() -> None:
    costs = Costs(RoundCost(1.0), {"model": {1: RoundCost(1.1), 2: RoundCost(1.2), 4: RoundCost(1.4)}})
    lengths = [best_length(costs, "model", acceptance, 0)[0] for acceptance in (0.05, 0.3, 0.7, 0.95)]
    assert lengths == sorted(lengths) and lengths[0] == 0
    assert best_length(costs, "model", 0.95, 0) == (4, pytest.approx(4.524 / 1.4, abs=0.01))
    assert pays_from(costs, "model", 0) == 0.11
    costly = Costs(RoundCost(1.0), {"model": {1: RoundCost(2.5)}})
    assert best_length(costly, "model", 0.9, 0) == (0, 1.0) and pays_from(costly, "model", 0) is None


def test_tune_prints_tables_and_json(tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli) -> None:
    monkeypatch.setattr("mlx_spec.calibrate.SECONDS", 60.0)
    monkeypatch.setattr(measuring, "GOES", 1)
    monkeypatch.setattr(measuring, "FAR", measuring.NEAR)
    printed = run("tune", *tiny_pair.arguments).out
    assert "best length" in printed and printed.count("drafted by model costs") == 1
    monkeypatch.setattr("mlx_spec.calibrate.SECONDS", 0.1)
    found = run.json("tune", *tiny_pair.arguments)
    assert found["costs"]["plain"][0] > 0 and found["plain_seconds"] > 0 and found["device"]
    assert found["pair"]["draft"] == str(tiny_pair.draft)
    assert set(found["best"]) == {str(c) for c in found["contexts"]}
