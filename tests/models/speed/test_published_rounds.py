"""Published drafters and heads: their sizes, and the costs of their rounds, from tables alone."""

from dataclasses import replace

import pytest

from benchmarks.heads_on_macs import HEADS, LLAMA, LLAMA_8B
from benchmarks.known_models import known_model
from models.load.drafters import LOADERS
from models.pairs.published import Layout, Published, Round, all_published
from models.speed.chips import find_chip
from models.speed.published_rounds import best, parameters, predicted, round_seconds, tokens, weight_bytes
from models.speed.roofline import ROUND_SECONDS, expected_tokens, pass_seconds

LAYOUT = Layout(hidden=8, intermediate=16, heads=2, kv_heads=1, head_dim=4, vocab=100)
KNOWN = Round("prose", "a table", 0.0, drafted=3, tokens=2.5)
BLOCK = Published("a/block", "dflash", ("llama-3.1-8b",), "a list", LAYOUT, rounds=(KNOWN,))
M4, TARGET = find_chip("M4 Pro"), known_model("llama-3.1-8b")


def test_sizes_agree_with_those_that_were_published() -> None:
    known = {drafter.repo: drafter for drafter in all_published()}
    eight = weight_bytes(known["z-lab/Qwen3-8B-DFlash-b16"])
    assert eight == pytest.approx(2 * 1.05e9, rel=0.01)
    layer = weight_bytes(replace(known["mlx-community/Qwen3.8-27B-MTP-4bit"], bytes=None))
    assert layer and layer * 4.5 / 16 == pytest.approx(0.24e9, rel=0.01)
    block = weight_bytes(replace(known["incoai/Qwen3.8-27B-DFlash2"], bytes=None))
    assert block == pytest.approx(3.85e9, rel=0.12)  # without convolutions and codebooks
    assistant = weight_bytes(known["google/gemma-4-31B-it-assistant"])
    assert assistant == pytest.approx(945e6, rel=0.01)  # Radamanthys11/Gemma-4-31B-it-assistant-GGUF, F16


def test_an_assistant_reads_all_of_its_own_once_per_token() -> None:
    known = next(each for each in all_published() if each.repo == "google/gemma-4-31B-it-assistant")
    lengths = [round_seconds(known, TARGET, M4, length) for length in (1, 2)]
    verifies = [pass_seconds(TARGET, M4, rows=rows) for rows in (2, 3)]
    step = (lengths[1] - verifies[1]) - (lengths[0] - verifies[0])
    assert step == pytest.approx(lengths[0] - verifies[0] - ROUND_SECONDS)
    bytes_read = (weight_bytes(known) or 0) * 4.5 / 16
    assert 1 < step / (bytes_read / M4.bandwidth / 1e9) < 3


def test_tokens_of_a_round_are_the_published_ones_at_the_published_length() -> None:
    assert tokens(KNOWN, 3) == pytest.approx(2.5)
    assert 1 < tokens(KNOWN, 1) < tokens(KNOWN, 2) < 2.5
    by_share = Round("prose", "a table", 0.0, drafted=2, rate=0.7)
    assert tokens(by_share, 2) == pytest.approx(2.4)
    by_position = Round("prose", "a table", 0.0, accepted=(0.6, 0.3))
    assert tokens(by_position, 2) == pytest.approx(1.9)
    assert expected_tokens(0.5, 1) == 1.5


def test_the_prediction_lies_between_those_of_the_least_and_the_most_acceptance() -> None:
    rounds = tuple(replace(KNOWN, tokens=each) for each in (1.2, 2.0, 3.5))
    found = predicted(replace(BLOCK, rounds=rounds), TARGET, M4)
    speeds = [best(BLOCK, each, TARGET, M4)[0] for each in rounds]
    assert found and found.speed == pytest.approx(speeds[1])
    assert found.range[0] <= speeds[0] and found.range[1] >= speeds[2]
    assert predicted(replace(BLOCK, rounds=()), TARGET, M4) is None
    assert predicted(replace(BLOCK, layout=None), TARGET, M4) is None


def test_every_published_drafter_is_of_a_kind_that_loads_and_names_its_source() -> None:
    for drafter in all_published():
        assert drafter.kind in LOADERS and drafter.source and drafter.targets, drafter.repo
        assert "/" in drafter.repo
        for each in drafter.rounds:
            assert each.source and each.text, drafter.repo
            assert each.accepted or (each.drafted and (each.tokens or each.rate)), drafter.repo
    repos = [drafter.repo for drafter in all_published()]
    assert len(set(repos)) == len(repos)


def test_the_published_head_of_an_8b_target_has_its_published_size() -> None:
    assert parameters(LLAMA_8B, LLAMA) / 1e9 == pytest.approx(0.42, abs=0.01)


def test_acceptance_adds_up_and_nothing_is_drafted_where_rows_are_passes() -> None:
    (known,) = LLAMA_8B.rounds
    assert tokens(known, 3) == pytest.approx(2.606)
    m1 = find_chip("M1")
    speed, length = best(LLAMA_8B, known, TARGET, m1)
    assert length == 0 and speed == pytest.approx(1 / pass_seconds(TARGET, m1))
    for name, heads in HEADS.items():
        assert all(best(head, head.rounds[0], known_model(name), M4)[1] for head in heads)
