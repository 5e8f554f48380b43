"""Predictions for several Macs and for batches, and that docs/serving.md has the scripts' tables."""

from itertools import pairwise

import pytest

from benchmarks import batches_on_macs, several_macs
from benchmarks.batches_on_macs import TEXTS, batch_seconds, gains
from benchmarks.known_models import known_model
from benchmarks.several_macs import LINKS, shared_seconds, speeds
from models.speed.chips import find_chip
from models.speed.roofline import pass_seconds
from tests.on_ranks import ROOT

PAGE = (ROOT / "docs" / "serving.md").read_text()
CHIP, MAC = find_chip("M4 Pro"), find_chip(batches_on_macs.CHIP)
TARGET, DRAFT = map(known_model, several_macs.PAIRS["Llama-3.3-70B + 1B"])
BATCHED, ITS_DRAFT = map(known_model, batches_on_macs.PAIRS["Qwen3-32B + 0.6B"])


@pytest.mark.parametrize("script", [several_macs, batches_on_macs])
def test_the_page_has_the_table_that_the_script_prints(script) -> None:
    assert "\n".join(script.lines()) in PAGE


def test_one_mac_takes_what_the_roofline_says() -> None:
    assert shared_seconds(TARGET, CHIP, 3, 1, 0.0) == pass_seconds(TARGET, CHIP, rows=3)


def test_an_exchange_costs_the_same_for_every_number_of_rows() -> None:
    slow, fast = (LINKS[link] for link in ("TCP", "RDMA"))
    extra = [
        shared_seconds(TARGET, CHIP, n, 2, slow) - shared_seconds(TARGET, CHIP, n, 2, fast) for n in (1, 5)
    ]
    assert extra == pytest.approx([2 * 80 * (slow - fast)] * 2)


def test_drafting_gains_more_the_slower_the_link_is() -> None:
    found = [speeds(TARGET, DRAFT, CHIP, 2, link) for link in (0.0, LINKS["RDMA"], LINKS["TCP"])]
    gained = [max(each) / each[0] for each in found]
    assert all(slower > faster for faster, slower in pairwise(gained))


def test_the_page_compares_with_the_published_speed() -> None:
    plain = speeds(known_model("qwen3.8-27b"), DRAFT, CHIP, 2, LINKS["RDMA"])[0]
    assert f"says {plain:.1f} plain at 4 bits" in PAGE


def test_one_text_takes_what_the_roofline_says() -> None:
    assert batch_seconds(BATCHED, MAC, 1, 3) == pass_seconds(BATCHED, MAC, rows=3)


def test_the_keys_and_values_of_each_text_are_read_once_whatever_the_rows() -> None:
    keys = pass_seconds(BATCHED, MAC) - pass_seconds(BATCHED, MAC, context=0)
    for texts, rows in ((4, 2), (2, 4)):
        shared = batch_seconds(BATCHED, MAC, texts, rows) - texts * keys
        assert shared == pytest.approx(pass_seconds(BATCHED, MAC, rows=8, context=0))


def test_drafting_gains_least_at_four_texts_and_again_at_eight() -> None:
    best = {texts: max(gains(BATCHED, ITS_DRAFT, MAC, texts, 0.6)) for texts in TEXTS}
    assert min(best, key=lambda texts: best[texts]) == 4 and best[4] < 1.01 < best[8]


def test_no_batch_is_looked_at_beyond_a_tile() -> None:
    assert [len(gains(BATCHED, ITS_DRAFT, MAC, texts, 0.8)) for texts in (1, 4, 8, 16)] == [9, 8, 4, 2]
