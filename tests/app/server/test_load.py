"""Many clients that stream, hang up and send invalid requests: a minute of `benchmarks.serve_load`."""

from pathlib import Path

import pytest

from benchmarks import serve_load
from benchmarks.serve_load import Outcome
from tests.app.tiny_pair import TinyPair


@pytest.mark.slow
def test_many_clients_get_right_texts_and_memory_stays(tiny_pair: TinyPair, tmp_path: Path) -> None:
    outcome = serve_load.load(tmp_path, tiny_pair.arguments, seconds=60, clients=32)
    assert outcome.complaints == []
    assert len(outcome.seconds) > 20 and outcome.done["hang_up"] > 20, outcome.done


def test_what_is_wrong_is_complained_of() -> None:
    busy = {"complete": 1, "hang_up": 1, "send_nonsense": 1}
    flat, grown = [10**9] * 8, [10**9] * 4 + [2 * 10**9] * 4
    outcome = Outcome(memory=flat)
    outcome.done.update(busy)
    assert outcome.complaints == []
    outcome.wrong.append("seed 3: 500")
    assert outcome.complaints == ["seed 3: 500"]
    outcome.memory = grown
    assert outcome.complaints == ["seed 3: 500", "The memory grew by 1000 MB."]
    assert "too little" in Outcome(memory=flat).complaints[0]
