"""Predictions for batches on Macs, and that docs/serving.md has the script's table."""

import pytest

from benchmarks.batches_on_macs import CHIP, PAIRS, TEXTS, batch_seconds, gains, lines
from benchmarks.known_models import known_model
from models.speed.chips import find_chip
from models.speed.roofline import pass_seconds
from tests.on_ranks import ROOT

MAC = find_chip(CHIP)
TARGET, DRAFT = map(known_model, PAIRS["Qwen3-32B + 0.6B"])


def test_the_page_has_the_table_that_the_script_prints() -> None:
    assert "\n".join(lines()) in (ROOT / "docs" / "serving.md").read_text()


def test_one_text_takes_what_the_roofline_says() -> None:
    assert batch_seconds(TARGET, MAC, 1, 3) == pass_seconds(TARGET, MAC, rows=3)


def test_the_keys_and_values_of_each_text_are_read_once_whatever_the_rows() -> None:
    keys = pass_seconds(TARGET, MAC) - pass_seconds(TARGET, MAC, context=0)
    for texts, rows in ((4, 2), (2, 4)):
        shared = batch_seconds(TARGET, MAC, texts, rows) - texts * keys
        assert shared == pytest.approx(pass_seconds(TARGET, MAC, rows=8, context=0))


def test_drafting_gains_least_at_four_texts_and_again_at_eight() -> None:
    best = {texts: max(gains(TARGET, DRAFT, MAC, texts, 0.6)) for texts in TEXTS}
    assert min(best, key=lambda texts: best[texts]) == 4 and best[4] < 1.01 < best[8]


def test_no_batch_is_looked_at_beyond_a_tile() -> None:
    assert [len(gains(TARGET, DRAFT, MAC, texts, 0.8)) for texts in (1, 4, 8, 16)] == [9, 8, 4, 2]
