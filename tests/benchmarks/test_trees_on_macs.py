"""`best_tree` is the best of all trees, and docs/trees.md is the script's output."""

from collections.abc import Iterator
from functools import cache

import pytest

from benchmarks.trees_on_macs import DOCUMENT, Tree, best_tree, document, expected, levels


@cache
def all_trees(rows: int, depth: int, ranks: int) -> tuple[Tree, ...]:
    """All ordered trees with this many nodes, at most this depth, and at most `ranks` children per node."""
    if rows == 1:
        return ((),)
    return tuple(_forests(rows - 1, depth, ranks, ranks)) if depth else ()


def _forests(rows: int, depth: int, ranks: int, width: int) -> Iterator[Tree]:
    if rows == 0:
        yield ()
    for first in range(1, rows + 1) if width else ():
        for tree in all_trees(first, depth - 1, ranks):
            for rest in _forests(rows - first, depth, ranks, width - 1):
                yield (tree, *rest)


@pytest.mark.parametrize("ranks", [(0.6, 0.12, 0.05), (0.5, 0.45, 0.03), (0.35, 0.33, 0.32)])
@pytest.mark.parametrize("depth", [1, 2, 3, 7])
def test_no_tree_brings_more_tokens_than_the_best_one(ranks: tuple[float, ...], depth: int) -> None:
    for rows in range(1, 9):
        found, tree = best_tree(rows, depth, ranks)
        every = all_trees(rows, depth, len(ranks))
        if not every:
            assert not tree and found < 0
            continue
        assert found == pytest.approx(max(expected(other, ranks) for other in every))
        assert found == pytest.approx(expected(tree, ranks))
        assert sum(map(len, levels(tree))) == rows and len(levels(tree)) - 1 <= depth


def test_the_committed_page_is_what_the_script_writes() -> None:
    assert DOCUMENT.read_text() == document()
