"""A tree grows at its likeliest nodes, and the nodes kept of it are still a tree."""

import mlx.core as mx
import pytest

from mlx_spec.drafters.growing import Growth

VOCAB = 6


def logprobs(path: tuple[int, ...]) -> mx.array:
    """A random distribution after each path."""
    key = mx.random.key(sum((i + 1) * 7**i * (t + 1) for i, t in enumerate(path)))
    scores = 2 * mx.random.normal((VOCAB,), key=key)
    return scores - mx.logsumexp(scores)


def listed(x: mx.array | None) -> list:
    assert x is not None
    return x[0].tolist()  # type: ignore[return-value]


def grown(width: int, depth: int) -> Growth:
    growth = Growth.first(logprobs(())[None], width)
    while growth.depth < depth:
        rows = [logprobs(tuple(path)) for path in listed(growth.paths)]
        growth, _ = growth.next(mx.stack(rows)[None])
    return growth


def paths(tokens: list[int], parents: list[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for token, parent in zip(tokens, parents, strict=True):
        found.append((*found[parent], token))
    return found[1:]


def sure(path: tuple[int, ...]) -> float:
    return sum(float(logprobs(path[:i])[token]) for i, token in enumerate(path))


@pytest.mark.parametrize(("width", "depth", "count"), [(1, 4, 3), (3, 4, 7), (4, 3, 12), (2, 3, 99)])
def test_what_is_kept_is_a_tree_of_the_likeliest_nodes(width, depth, count):
    growth = grown(width, depth)
    whole = paths(listed(growth.tokens), listed(growth.parents))
    assert len(whole) == width * depth == len(set(whole))
    draft = growth.likeliest(count)
    kept = paths(listed(draft.tokens), listed(draft.parents))
    assert all(parent <= i for i, parent in enumerate(listed(draft.parents))), "parents come first"
    best = sorted(whole, key=lambda path: sure(path) - 1e-4 * len(path), reverse=True)[:count]
    assert set(kept) == set(best)


def test_each_level_has_the_likeliest_children_of_the_level_before():
    growth, width = grown(2, 3), 2
    levels = [
        set(paths(listed(growth.tokens), listed(growth.parents))[i * width :][:width]) for i in range(3)
    ]
    for level, onward in zip(levels, levels[1:], strict=False):
        every = [(*path, token) for path in level for token in range(VOCAB)]
        assert onward == set(sorted(every, key=sure, reverse=True)[:width])
