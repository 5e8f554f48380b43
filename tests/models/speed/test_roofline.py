"""Predictions are as close to published speeds as the docs say, and the docs are the script's output."""

from dataclasses import replace
from statistics import median

import pytest

from benchmarks import calibration
from benchmarks.known_models import known_model
from models.errors import BadChoice
from models.pairs.catalogue import all_pairs
from models.pairs.pair import Source
from models.speed import machine
from models.speed.chips import all_chips, find_chip
from models.speed.roofline import (
    Model,
    acceptance_of,
    all_acceptances,
    expect,
    format_bits,
    model_of,
    verify_cost,
)


@pytest.fixture(scope="module")
def rows() -> list[calibration.Row]:
    return calibration.plain_rows()


def test_the_committed_page_and_constants_are_what_the_script_writes() -> None:
    assert calibration.DOCUMENT.read_text() == calibration.document()
    assert calibration.FITTED.read_text() == calibration.fitted_text()


def test_plain_speeds_are_predicted_within_a_fifth_and_the_page_says_the_median(
    rows: list[calibration.Row],
) -> None:
    found, held_out = (median(abs(e) for e in errors) for errors in (
        [row.error for row in rows], [row.held_out_error for row in rows]
    ))  # fmt: skip
    assert len(rows) > 50
    assert found < 0.20 and held_out < 0.20
    page = calibration.DOCUMENT.read_text()
    assert f"**{found:.1%}**" in page and f"**{held_out:.1%}**" in page
    assert all(row.measured.source in page for row in rows)


def test_the_held_out_prediction_of_a_chip_knows_nothing_of_its_speeds(
    rows: list[calibration.Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    def held_out(rows: list[calibration.Row]) -> dict[str, list[float | None]]:
        found: dict[str, list[float | None]] = {}
        for row in rows:
            found.setdefault(row.measured.chip.name, []).append(row.held_out)
        return found

    before = held_out(rows)
    wrong = tuple(
        replace(m, speed=m.speed * 3) if m.chip.name == "M5 Max" else m for m in calibration.all_measured()
    )
    monkeypatch.setattr(calibration, "all_measured", lambda: wrong)
    after = held_out(calibration.plain_rows())
    assert {chip for chip in before if before[chip] == after[chip]} == {"M5 Max"}


def test_every_pair_of_the_catalogue_has_a_prediction_on_every_chip() -> None:
    # Its bits are the average over the weights that a token of gpt-oss-20b reads.
    assert [pair.name for pair in all_pairs() if pair.quantization == "MXFP4"] == ["gpt-oss-20b"]
    for chip in all_chips():
        for pair in all_pairs():
            expected = expect(pair, chip)
            assert expected is not None, (pair.name, chip.name)
            assert expected.plain_range[0] < expected.plain < expected.plain_range[1]
            assert expected.drafted_range[0] <= expected.drafted <= expected.drafted_range[1]
            assert expected.drafted >= expected.plain
            assert (not expected.length) == (expected.drafted == expected.plain)
            assert (expected.length is None) == (pair.draft is None)


def test_a_folder_is_known_by_its_name_and_none_of_ones_own_is_taken_for_the_builtin_pair_s() -> None:
    found = [
        model_of(Source(f"/models/{name}"), "4-bit") for name in ("target", "draft-0.5b", "Qwen3-8B-4bit")
    ]
    assert found == [None, None, known_model("qwen3-8b")]


def test_a_mixture_in_mxfp4_reads_what_a_token_asks_and_further_rows_ask_experts_of_their_own() -> None:
    """The arithmetic of roofline.toml, from gpt-oss-20b's sizes."""
    dim, experts, asked = 2880, 32, 4
    each, attention = 3 * dim * dim, 2 * dim * 64 * (64 + 8)
    in_experts, other = 24 * asked * each / 1e9, (24 * attention + 201_088 * dim) / 1e9
    shape, bits = known_model("gpt-oss-20b").shape, format_bits("MXFP4")
    assert shape.parameters == pytest.approx(in_experts + other, rel=0.01)
    assert bits == pytest.approx((4.25 * in_experts + 8.5 * other) / (in_experts + other), rel=0.01)
    share = 4.25 * in_experts / (bits * shape.parameters)
    chip = find_chip("M4 Pro")
    for rows in (2, 3, 4):
        different = experts * (1 - (1 - asked / experts) ** rows) / asked
        counted = share * different + (1 - share) * verify_cost(known_model("Qwen3-8B"), chip, rows)
        assert verify_cost(Model(shape, bits), chip, rows) == pytest.approx(counted, rel=0.12)


def test_of_a_family_without_a_published_acceptance_those_of_all_others_are_expected() -> None:
    qwen = acceptance_of("qwen2.5")
    assert qwen.published and qwen.low < qwen.middle < qwen.high
    unknown = acceptance_of("gemma3")
    assert not unknown.published
    assert unknown.low == min(a.rate for a in all_acceptances() if a.family != "builtin")


@pytest.mark.parametrize(
    ("text", "cores", "name", "bandwidth"),
    [
        ("Apple M4 Pro", None, "M4 Pro", 273),
        ("m4 max", None, "M4 Max", 546),
        ("M4 Max", 32, "M4 Max", 410),
        ("M4 Max 32", None, "M4 Max", 410),
        ("Apple M3 Max (30 GPU cores)", 40, "M3 Max", 300),
        ("Apple M1", 8, "M1", 68),
    ],
)
def test_a_chip_is_found_by_its_name_and_cores(
    text: str, cores: int | None, name: str, bandwidth: float
) -> None:
    chip = find_chip(text, cores)
    assert (chip.name, chip.bandwidth) == (name, bandwidth)


@pytest.mark.parametrize("text", ["M9", "M4 Max 33", "Intel Core i7", "", "M4Pro"])
def test_an_unknown_chip_is_refused_with_those_known(text: str) -> None:
    with pytest.raises(BadChoice, match="M4 Max|with 32 or 40"):
        find_chip(text)


def test_this_mac_is_found_by_what_the_system_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {"/usr/sbin/sysctl": "Apple M4 Max\n", "/usr/sbin/ioreg": '  "gpu-core-count" = 32\n'}
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    monkeypatch.setattr(machine, "output_of", lambda program, *rest: printed[program])
    try:
        for name, bandwidth in (("Apple M4 Max\n", 410), ("Apple M12 Max\n", None)):
            printed["/usr/sbin/sysctl"] = name
            machine.chip_name.cache_clear()
            machine.this_chip.cache_clear()
            chip = machine.this_chip()
            assert (chip and chip.bandwidth) == bandwidth
    finally:
        machine.chip_name.cache_clear()
        machine.this_chip.cache_clear()
