"""Combinations of settings: a few in every run, all of them in `make slow`."""

import itertools
from collections.abc import Collection, Iterable
from typing import Any

import pytest


def grid(*axes: Iterable[Any], usual: Collection[tuple[Any, ...]]) -> list[Any]:
    """Every combination; those that are not `usual` are slow tests."""
    cases = list(itertools.product(*axes))
    assert set(usual) <= set(cases)
    return [pytest.param(*case, marks=[] if case in usual else pytest.mark.slow) for case in cases]
