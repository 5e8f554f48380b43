"""How long texts wait while the prompts of others are read."""

import pytest

from mlx_spec import Options
from mlx_spec import rows as rows_module
from mlx_spec.target.model import Model
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only prefill moves: 5 ms a token."""
    now, honest = [1.0], Model.read

    def clock() -> float:
        now[0] += 1e-6
        return now[0]

    monkeypatch.setattr(rows_module, "WAIT", 0.25)
    monkeypatch.setattr(rows_module, "LONGEST_WAIT", 1.0)
    monkeypatch.setattr(rows_module.time, "perf_counter", clock)

    def timed(self, stop, *args, **more):
        now[0] += 0.005 * (stop - self.seen[args[1]])
        return honest(self, stop, *args, **more)

    monkeypatch.setattr(Model, "read", timed)
    return now


@pytest.mark.parametrize(("prompts", "longest"), [(1, 0.25), (3, 0.75), (7, 1.0)])
def test_a_text_waits_as_long_as_was_set_while_prompts_are_read(now, prompts, longest):
    rows, gaps = engine_of(one_layer(), context_limit=4096).rows(), []
    running = rows.add(prompt(5, 1), Options(max_tokens=300))
    while not running.rounds:
        rows.step()
    others = [rows.add(prompt(2100 // prompts, 2 + i), Options(max_tokens=5)) for i in range(prompts)]
    before_them = len(running.rounds)
    while not (running.ended or all(one.begun for one in others)):
        before = now[0]
        rows.step()
        gaps.append(now[0] - before)
    assert longest - 0.01 < max(gaps) <= longest + 1e-3 and sum(gaps) > 7
    beside_them = running.rounds[before_them:]
    assert beside_them and not any(one.steady for one in beside_them), "their time is not a round's alone"


@pytest.mark.parametrize("streamed", [False, True])
def test_prompts_are_read_before_the_next_round_unless_somebody_reads_along(now, streamed):
    rows = engine_of(one_layer(), context_limit=4096).rows()
    running = rows.add(prompt(5, 1), Options(max_tokens=60), streamed=streamed)
    while not running.rounds:
        rows.step()
    joining = [rows.add(prompt(600, 2 + i), Options(max_tokens=5), streamed=False) for i in range(3)]
    rounds, gaps = len(running.rounds), []
    while not all(text.begun for text in joining):
        before = now[0]
        rows.step()
        gaps.append(now[0] - before)
    assert max(gaps) < 1 + 0.005 * 512 + 1e-3, "a cancelled text is noticed after a piece"
    assert (len(running.rounds) <= rounds + 1) != streamed
    while rows.busy:
        rows.step()
    assert [len(text.tokens) for text in joining] == [605] * 3
