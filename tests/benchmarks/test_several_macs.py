"""Predictions for several Macs, and that docs/serving.md has the script's table."""

from itertools import pairwise

import pytest

from benchmarks.several_macs import LINKS, PAIRS, lines, shared_seconds, speeds
from models.speed.chips import find_chip
from models.speed.roofline import Model, find_shape, format_bits, pass_seconds
from tests.on_ranks import ROOT

CHIP = find_chip("M4 Pro")


def model(name: str) -> Model:
    shape = find_shape(name)
    assert shape is not None
    return Model(shape, format_bits("4-bit"))


TARGET, DRAFT = map(model, PAIRS["Llama-3.3-70B + 1B"])


def test_the_page_has_the_table_that_the_script_prints() -> None:
    assert "\n".join(lines()) in (ROOT / "docs" / "serving.md").read_text()


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
    gains = [max(each) / each[0] for each in found]
    assert all(slower > faster for faster, slower in pairwise(gains))


def test_the_page_compares_with_the_published_speed() -> None:
    plain = speeds(model("qwen3.8-27b"), DRAFT, CHIP, 2, LINKS["RDMA"])[0]
    assert f"says {plain:.1f} plain at 4 bits" in (ROOT / "docs" / "serving.md").read_text()
