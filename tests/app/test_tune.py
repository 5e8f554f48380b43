"""What rounds cost is measured once, kept, thrown away when circumstances change, and used."""

import json
from pathlib import Path

import pytest

from app import round_costs
from app.cli import main
from app.commands.tune import best_lengths
from mlx_spec.controller import Costs
from models import load_pair
from tests.app.tiny_pair import TinyPair


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "home"))


def loaded(pair: TinyPair):
    return load_pair(target=str(pair.target), draft=str(pair.draft))


def test_what_was_measured_is_used_by_the_next_process(tiny_pair: TinyPair) -> None:
    pair = loaded(tiny_pair)
    round_costs.use_costs(pair)
    assert pair.engine.costs is None, "nothing was measured yet"
    measured = round_costs.measure(pair)
    assert set(measured.rounds) == {"model", "lookup"}
    assert all(seconds > 0 for by in measured.rounds.values() for seconds in by.values())
    again = loaded(tiny_pair)
    round_costs.use_costs(again)
    assert again.engine.costs == measured


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1}', "not json", '{"a": {"plain": 1, "rounds": []}}'])
def test_a_file_that_cannot_be_used_holds_nothing_and_is_written_over(
    tiny_pair: TinyPair, content: str
) -> None:
    file = round_costs.costs_file()
    file.parent.mkdir(parents=True)
    file.write_text(content)
    pair = loaded(tiny_pair)
    round_costs.use_costs(pair)
    assert pair.engine.costs is None
    round_costs.measure(pair)
    assert len(json.loads(file.read_text())) == 1


def test_costs_of_another_version_machine_or_model_are_not_used(tiny_pair: TinyPair) -> None:
    round_costs.measure(loaded(tiny_pair))
    file = round_costs.costs_file()
    ((name, kept),) = json.loads(file.read_text()).items()
    for change in ({"mlx": "0.1"}, {"device": "another"}, {"weights": 1}):
        file.write_text(json.dumps({name: {**kept, "measured_with": {**kept["measured_with"], **change}}}))
        pair = loaded(tiny_pair)
        round_costs.use_costs(pair)
        assert pair.engine.costs is None, change


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(tiny_pair: TinyPair) -> None:
    home = round_costs.costs_file().parent
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("a file where the folder should be")
    pair = loaded(tiny_pair)
    round_costs.measure(pair)
    assert pair.engine.costs is not None


def test_the_answer_after_measuring_is_the_plain_one(tiny_pair: TinyPair) -> None:
    from mlx_spec import Options

    pair = loaded(tiny_pair)
    wanted = [
        t for r in pair.engine.generate([5, 6, 7], Options(max_tokens=20, drafter="none")) for t in r.tokens
    ]
    round_costs.measure(pair)
    rounds = list(pair.engine.generate([5, 6, 7], Options(max_tokens=20)))
    assert [t for r in rounds for t in r.tokens] == wanted


def test_best_lengths_follow_from_costs() -> None:
    costs = Costs(1.0, {"model": {1: 1.1, 2: 1.2, 4: 1.4}})
    (rows,) = best_lengths(costs).values()
    assert [row["length"] for row in rows] == sorted(row["length"] for row in rows)
    assert rows[-1] == {"acceptance": 0.95, "length": 4, "gain": pytest.approx(4.524 / 1.4, abs=0.01)}
    assert best_lengths(Costs(1.0, {"model": {1: 2.5}}))["model"][0]["length"] == 0


def test_tune_prints_a_table_and_json(tiny_pair: TinyPair, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *tiny_pair.arguments]) == 0
    assert "best length" in capsys.readouterr().out
    assert main(["tune", *tiny_pair.arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["plain"] > 0 and {"model", "lookup"} == set(found["rounds"]) and found["device"]
