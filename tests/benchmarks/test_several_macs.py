"""docs/serving.md has the tables that the scripts print, for several Macs and for batches."""

import pytest

from benchmarks import batches_on_macs, several_macs
from benchmarks.known_models import known_model
from benchmarks.several_macs import LINKS, speeds
from models.speed.chips import find_chip
from tests.on_ranks import ROOT

PAGE = (ROOT / "docs" / "serving.md").read_text()


@pytest.mark.parametrize("script", [several_macs, batches_on_macs])
def test_the_page_has_the_table_that_the_script_prints(script) -> None:
    assert "\n".join(script.lines()) in PAGE


def test_the_page_compares_with_the_published_speed() -> None:
    draft = known_model("llama-3.2-1b")
    plain = speeds(known_model("qwen3.8-27b"), draft, find_chip("M4 Pro"), 2, LINKS["RDMA"])[0]
    assert f"says {plain:.1f} plain at 4 bits" in PAGE
