"""A head's prediction follows from its sizes and its acceptance."""

import pytest

from benchmarks.heads_on_macs import HEADS, LLAMA, LLAMA_8B, step_model
from models.speed.chips import find_chip
from models.speed.published_rounds import best, parameters, round_seconds, tokens
from models.speed.roofline import ROUND_SECONDS, Model, Shape, find_shape, fitted, pass_seconds

M4_PRO = find_chip("M4 Pro")


def target(name: str) -> Model:
    shape = find_shape(name)
    assert shape is not None
    return Model(shape, 4.5)


def test_the_published_head_of_an_8b_target_has_its_published_size() -> None:
    assert parameters(LLAMA_8B, LLAMA) / 1e9 == pytest.approx(0.42, abs=0.01)


def test_a_step_launches_one_layer_and_a_round_reads_the_features_once() -> None:
    bandwidth = fitted().bandwidth_share * M4_PRO.bandwidth * 1e9
    read = step_model(LLAMA_8B)
    step = read.shape.parameters * 1e9 * read.bits / 8 / bandwidth + fitted().layer_seconds
    assert pass_seconds(read, M4_PRO, context=0) == pytest.approx(step)
    llama = target("llama-3.1-8b")
    round_of_3 = round_seconds(LLAMA_8B, llama, M4_PRO, 3, context=0)
    whole = Model(Shape([], parameters(LLAMA_8B, LLAMA) / 1e9, 1, read.shape.kv), read.bits)
    first = pass_seconds(whole, M4_PRO, rows=4, context=0)
    verify = pass_seconds(llama, M4_PRO, rows=4, context=0)
    assert round_of_3 == pytest.approx(first + 2 * step + verify + ROUND_SECONDS)


def test_acceptance_adds_up_and_nothing_is_drafted_where_rows_are_passes() -> None:
    (known,) = LLAMA_8B.rounds
    assert tokens(known, 3) == pytest.approx(2.606)
    llama, m1 = target("llama-3.1-8b"), find_chip("M1")
    speed, length = best(LLAMA_8B, known, llama, m1)
    assert length == 0 and speed == pytest.approx(1 / pass_seconds(llama, m1))
    for name, heads in HEADS.items():
        assert all(best(head, head.rounds[0], target(name), M4_PRO)[1] for head in heads)
