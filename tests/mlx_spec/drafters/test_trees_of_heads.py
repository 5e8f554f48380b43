"""Trees drafted by heads change no text, save rounds, and hold the heads' likeliest tokens."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from mlx_spec import Options
from mlx_spec.drafters.medusa import RIGHT, shape
from tests.mlx_spec.drafters.learnt import LEARNT, PROMPT, SEED, model
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import drafts
from tests.mlx_spec.medusa_heads import ranked
from tests.mlx_spec.tiny_models import ragged, text, tokens


def branching(name: str, size: int = 7) -> Any:
    """The head's drafter, with trees of this many nodes only."""
    kind = LEARNT[name].kind

    class Branching(kind):
        def candidates(self, length):
            return [c for c in super().candidates(length) if c.nodes == size]

    return LEARNT[name].engine(Branching)


@pytest.mark.parametrize(
    ("name", "size", "temperature", "depth"),
    grid(
        ("eagle", "medusa"),
        (7, 15),
        (0.0, 0.8),
        (1, 2, 4),
        usual=[
            ("eagle", 15, 0.0, 4), ("eagle", 7, 0.8, 1), ("medusa", 15, 0.0, 2), ("medusa", 7, 0.8, 4),
        ],
    ),
)  # fmt: skip
def test_trees_change_no_text_and_are_accepted_more_often_than_chains(name, size, temperature, depth):
    engine, options = branching(name, size), {"max_tokens": 24, "temperature": temperature, "seed": SEED}
    asked = Options(drafter=name, draft_length=depth, **options)
    grown = list(engine.generate(PROMPT, asked))
    assert tokens(grown) == text(engine, PROMPT, drafter="none", **options)
    assert set() < {r.tree_depth for r in grown if r.drafted} <= set(range(1, depth + 1))
    assert len(grown) <= len(list(LEARNT[name].engine().generate(PROMPT, asked))), "the chain is in the tree"


def test_a_tree_is_no_deeper_than_it_has_nodes_whatever_is_asked_for():
    asked = Options(drafter="eagle", draft_length=12, max_tokens=40)
    grown = list(branching("eagle").generate(PROMPT, asked))
    assert max(r.tree_depth for r in grown if r.drafted) == 7


@pytest.mark.parametrize("depth", [1, 3])
def test_the_first_token_of_the_chain_is_in_the_tree(depth):
    found = drafts(branching("eagle"), PROMPT, "eagle", max_tokens=24, draft_length=depth)
    for before, drafted in found:
        _, chain = LEARNT["eagle"].guesses(model(LEARNT["eagle"]), before, 1)
        assert chain[0] in drafted
    assert 0 < len({len(drafted) for _, drafted in found}) <= 2


@pytest.mark.parametrize("depth", [1, 4])
def test_each_node_of_a_tree_is_the_guess_of_its_head_and_rank(depth):
    found = drafts(branching("medusa"), PROMPT, "medusa", max_tokens=24, draft_length=depth)
    assert len(found) > 3
    for before, drafted in found[:-1]:  # the last one is cut to what is still wanted
        guesses, nodes = ranked(model(LEARNT["medusa"]), before), shape(7, depth)  # type: ignore[arg-type]
        assert list(drafted) == [guesses[level][rank] for _, level, rank in nodes]


@pytest.mark.parametrize(("nodes", "depth"), [(3, 2), (4, 3), (5, 1)])
def test_a_tree_has_the_likeliest_nodes_of_all_trees_of_its_size(nodes, depth):
    """Against every connected set of nodes; a path is the ranks that lead to a node."""

    def likely(path: tuple[int, ...]) -> float:
        return float(np.prod([RIGHT[level][rank] for level, rank in enumerate(path)]))

    some = range(3 if depth > 1 else 5)
    paths = [path for count in range(1, depth + 1) for path in product(some, repeat=count)]
    whole = (c for c in combinations(paths, nodes) if all(p[:-1] in c for p in c if len(p) > 1))
    made: list[tuple[int, ...]] = [()]
    for on, level, rank in shape(nodes, depth):
        assert len(made[on]) == level, "its parent is a node of the head before"
        made.append((*made[on], rank))
    assert sum(map(likely, made[1:])) == pytest.approx(max(sum(map(likely, c)) for c in whole))


@pytest.mark.parametrize("rule", ["token", "block"])
def test_they_are_drafted_under_the_other_rules_too(rule):
    options = Options(max_tokens=8, temperature=0.8, verify=rule, drafter="medusa", draft_length=3)
    rounds = list(branching("medusa").generate(PROMPT, options))
    assert len(tokens(rounds)) == 8 and any(r.drafted for r in rounds)


def test_three_ragged_texts_with_trees_are_those_of_single_runs():
    assert ragged(branching("medusa"), "medusa") > 0
