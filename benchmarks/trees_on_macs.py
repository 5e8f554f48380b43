"""Where draft trees are predicted to pay on Macs: the best chain and the best tree by published pass costs.

`python -m benchmarks.trees_on_macs` writes docs/trees.md; with `--ranks` it prints it for another acceptance.
Trees are Sequoia's (Chen et al. 2024, arXiv 2402.12374, section 3.1): they maximize the expected tokens for a
number of rows and a depth, if the child of rank i of an accepted node is accepted with probability ranks[i].
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from models.speed.chips import find_chip
from models.speed.roofline import Model, find_shape, format_bits, verify_cost

DOCUMENT = Path(__file__).parents[1] / "docs" / "trees.md"
PAGE = Path(__file__).with_name("trees_page.md")

Tree = tuple["Tree", ...]
"""A node: its children, the likeliest first."""

ROWS = (4, 8, 16, 32)
"""Rows of the verify pass: a tree's nodes, with its root, the text's last token."""


def _published(chip: str) -> dict[int, float]:
    """The roofline's cost by rows, for 4-bit weights."""
    shape = find_shape("llama-3.1-8b")
    assert shape is not None
    model = Model(shape, format_bits("4-bit"))
    return {rows: verify_cost(model, find_chip(chip), rows) for rows in range(1, ROWS[-1] + 1)}


CURVES: Mapping[str, Mapping[int, float]] = {
    "M1, 4-bit": _published("M1"),
    "M2, 4-bit": _published("M2"),
    "M3, M4, 4-bit": _published("M4"),
    "M5, 4-bit": _published("M5"),
    "M5 Max, 4 to 6 bits": {1: 1.0, 3: 1.17, 6: 1.78, 8: 1.83, 32: 1.83},
    "M3 Ultra, bf16": {1: 1.0, 2: 2.0, 32: 2.0},
    "this CPU, float32": {1: 1.0, 2: 1.24, 4: 1.59, 8: 1.77, 16: 2.65, 32: 4.41},
}
"""Cost of a pass by rows, relative to one row, interpolated linearly. The page names the sources."""
STEPS = (0.03, 0.08)
"""Cost of a head's step over one row, relative to the target's pass over one."""
RANKS = ((0.60, 0.12, 0.05, 0.03, 0.02), (0.73, 0.12, 0.05, 0.03, 0.02))
"""Acceptance by rank."""
DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree with its expected tokens and cost."""

    tree: Tree
    tokens: float
    """Expected tokens of a round, with the bonus."""
    cost: float
    """Of a round, relative to a plain pass."""

    @property
    def ratio(self) -> float:
        return self.tokens / self.cost

    @property
    def rows(self) -> int:
        return sum(map(len, levels(self.tree)))

    @property
    def depth(self) -> int:
        return len(levels(self.tree)) - 1


def levels(tree: Tree) -> list[list[Tree]]:
    """The nodes at each depth, from the root."""
    found = [[tree]]
    while below := [child for node in found[-1] for child in node]:
        found.append(below)
    return found


def expected(tree: Tree, ranks: Sequence[float]) -> float:
    """Expected tokens of a round: 1 for the root, plus each subtree's times its acceptance probability."""
    return 1 + sum(rank * expected(child, ranks) for rank, child in zip(ranks, tree, strict=False))


@cache
def best_tree(rows: int, depth: int, ranks: tuple[float, ...]) -> tuple[float, Tree]:
    """(expected tokens, tree) of the best tree with `rows` nodes and at most this depth: the paper's T."""
    return max((_best_with(rows, depth, count, ranks) for count in range(len(ranks) + 1)), key=lambda t: t[0])


@cache
def _best_with(rows: int, depth: int, count: int, ranks: tuple[float, ...]) -> tuple[float, Tree]:
    """`best_tree` with `count` children: tries every number of rows for the last child's subtree."""
    if count == 0:
        return (1.0, ()) if rows == 1 else (-np.inf, ())
    found: tuple[float, Tree] = (-np.inf, ())
    for child_rows in range(1, rows - count + 1) if depth else ():
        before, children = _best_with(rows - child_rows, depth, count - 1, ranks)
        below, child = best_tree(child_rows, depth - 1, ranks)
        found = max(found, (before + ranks[count - 1] * below, (*children, child)), key=lambda t: t[0])
    return found


def chain(length: int) -> Tree:
    """A tree without branches."""
    return (chain(length - 1),) if length else ()


def pass_cost(curve: Mapping[int, float], rows: int) -> float:
    return float(np.interp(rows, list(curve), list(curve.values())))


def round_cost(tree: Tree, curve: Mapping[int, float], step: float) -> float:
    """Cost of the verify pass over all nodes, and of a head's step at each depth over nodes with children."""
    nodes = levels(tree)
    parents = [sum(1 for node in level if node) for level in nodes[:-1]]
    return pass_cost(curve, sum(map(len, nodes))) + step * sum(pass_cost(curve, wide) for wide in parents)


def shape(tree: Tree, ranks: Sequence[float], curve: Mapping[int, float], step: float) -> Shape:
    return Shape(tree, expected(tree, ranks), round_cost(tree, curve, step))


def best_chain(ranks: tuple[float, ...], curve: Mapping[int, float], step: float) -> Shape:
    """The fastest chain of all lengths; 0 is plain decoding."""
    shapes = (shape(chain(length), ranks, curve, step) for length in range(DEEPEST + 1))
    return max(shapes, key=lambda s: s.ratio)


def best_of(rows: int, ranks: tuple[float, ...], curve: Mapping[int, float], step: float) -> Shape:
    """The fastest tree with `rows` rows, over all depths."""
    trees = (best_tree(rows, depth, ranks)[1] for depth in range(1, DEEPEST + 1))
    fitting = (tree for tree in trees if tree)
    return max((shape(tree, ranks, curve, step) for tree in fitting), key=lambda s: s.ratio)


def lines(ranks: tuple[float, ...]) -> Iterator[str]:
    """A table, in Markdown."""
    heads = ["pass", "a step", "best chain", *(f"{rows} rows" for rows in ROWS), "best tree", "tree / chain"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for name, curve in CURVES.items():
        for step in STEPS:
            straight = best_chain(ranks, curve, step)
            every = {rows: best_of(rows, ranks, curve, step) for rows in range(2, ROWS[-1] + 1)}
            best = max(every.values(), key=lambda s: s.ratio)
            cells = [f"{every[rows].tokens:.2f}, {every[rows].ratio:.2f}" for rows in ROWS]
            gain = best.ratio / straight.ratio
            yield (
                f"| {name} | {step:g} "
                f"| {straight.depth} drafted: {straight.tokens:.2f}, {straight.ratio:.2f} "
                f"| {' | '.join(cells)} | {_cell(best)} | {gain:.2f} |"
            )


def _cell(found: Shape) -> str:
    wide = [len(level) for level in levels(found.tree)]
    kind = "a chain" if max(wide) == 1 else " ".join(map(str, wide[1:]))
    return f"{found.rows} rows ({kind}): {found.tokens:.2f}, {found.ratio:.2f}"


def document(all_ranks: Sequence[tuple[float, ...]] = RANKS) -> str:
    """docs/trees.md."""
    tables = [
        f"**Acceptance by rank {', '.join(f'{rank:.2f}' for rank in ranks)}**\n\n" + "\n".join(lines(ranks))
        for ranks in all_ranks
    ]
    return PAGE.read_text().format(tables="\n\n".join(tables))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees_on_macs", description=__doc__)
    parser.add_argument("--ranks", help="acceptance by rank, with commas between; prints, writes nothing")
    asked = parser.parse_args()
    if asked.ranks:
        print(document([tuple(float(word) for word in asked.ranks.split(","))]))
    else:
        DOCUMENT.write_text(document())
        print(f"Wrote {DOCUMENT.name}.")
