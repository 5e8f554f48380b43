"""A head's prediction follows from its sizes and its acceptance."""

import pytest

from benchmarks.heads_on_macs import HEADS, LLAMA_8B
from models.speed.chips import find_chip
from models.speed.heads import best, conditional, round_seconds, step_seconds
from models.speed.roofline import ROUND_SECONDS, Model, find_shape, fitted, pass_seconds

M4_PRO = find_chip("M4 Pro")


def target(name: str) -> Model:
    shape = find_shape(name)
    assert shape is not None
    return Model(shape, 4.5)


def test_the_published_head_of_an_8b_target_has_its_published_size() -> None:
    assert (LLAMA_8B.step_parameters + LLAMA_8B.fc_parameters) / 1e9 == pytest.approx(0.42, abs=0.01)


def test_a_step_launches_one_layer_and_a_round_reads_the_features_once() -> None:
    bandwidth = fitted().bandwidth_share * M4_PRO.bandwidth * 1e9
    step = LLAMA_8B.step_parameters * LLAMA_8B.bits / 8 / bandwidth + fitted().layer_seconds
    assert step_seconds(LLAMA_8B, M4_PRO, context=0) == pytest.approx(step)
    llama = target("llama-3.1-8b")
    round_of_3 = round_seconds(llama, LLAMA_8B, M4_PRO, 3, context=0)
    first = step_seconds(LLAMA_8B, M4_PRO, rows=4, context=0)
    verify = pass_seconds(llama, M4_PRO, rows=4, context=0)
    assert round_of_3 == pytest.approx(first + 2 * step + verify + ROUND_SECONDS)


def test_acceptance_adds_up_and_nothing_is_drafted_where_rows_are_passes() -> None:
    assert conditional([0.5, 0.5, 0.4]) == (0.5, 0.25, 0.1)
    assert LLAMA_8B.tokens(3) == pytest.approx(2.606)
    speed, length = best(target("llama-3.1-8b"), LLAMA_8B, find_chip("M1"))
    assert length == 0 and speed == pytest.approx(1 / pass_seconds(target("llama-3.1-8b"), find_chip("M1")))
    assert all(best(target(name), head, M4_PRO)[1] for name, heads in HEADS.items() for head in heads)
