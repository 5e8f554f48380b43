"""docs/model-types.md is right for the installed mlx-lm."""

import re
from pathlib import Path

import pytest

from tests.mlx_spec.model_types import check, check_apart, model_types

PAGE = Path(__file__).parents[2] / "docs" / "model-types.md"
ROWS = dict(re.findall(r"^\| (\S+) \| ([a-z ]+) \|", PAGE.read_text(), re.MULTILINE))
ROWS.pop("type")


def test_the_page_lists_every_model_type_of_the_installed_mlx_lm():
    assert sorted(ROWS) == model_types()


def test_no_type_differs_and_at_least_a_hundred_work():
    assert "differs" not in ROWS.values()
    assert list(ROWS.values()).count("works") >= 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "how"), [("gpt_oss", "rows"), ("llama4", "rows, read at once")])
def test_chunked_sliding_and_expert_layers_give_mlx_lm_text(name, how):
    found = check(name, [("model", 3)])
    assert (found.outcome, found.how) == ("works", how), found


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, outcome in ROWS.items() if outcome == "works"])
def test_a_type_that_works_by_the_page_works_here(name):
    result = check_apart(name)
    assert result.outcome == "works", result
