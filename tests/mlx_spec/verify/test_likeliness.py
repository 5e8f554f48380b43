"""Log probabilities of tokens are the target's, whatever drafter and batch."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec import Engine, Options
from mlx_spec.types import Likeliness
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.proof_drafters import SHAPES, Branching
from tests.mlx_spec.tiny_models import engine_of, prompt, tiny_llama

SAMPLED = {"temperature": 0.8, "repetition_penalty": 1.3, "top_k": 20}
ASKED: tuple[tuple[list[int], dict[str, Any], int | None], ...] = (
    (prompt(9, 1), {}, 3),
    (prompt(40, 2), SAMPLED | {"seed": 4}, 0),
    (prompt(5, 3), {}, None),
    (prompt(7, 4), SAMPLED | {"stop_tokens": frozenset(range(0, 90, 7))}, 2),
)
"""Prompts, options, and how many of the likeliest are wanted."""


def by_a_plain_pass(target: nn.Module, text: list[int], begin: int, most: int) -> list[Likeliness]:
    logs = nn.log_softmax(target(mx.array([text]))[0].astype(mx.float32))
    found = []
    for place in range(begin, len(text)):
        row: list[float] = logs[place - 1].tolist()  # type: ignore[assignment]
        best = sorted(range(len(row)), key=lambda token: -row[token])[:most]  # noqa: B023
        found.append(Likeliness(row[text[place]], tuple((token, row[token]) for token in best)))
    return found


def chain() -> Engine:
    return engine_of(tiny_llama(), nearly(tiny_llama), context_limit=512)


def tree() -> Engine:
    return Engine(
        tiny_llama(), [Branching(nearly(tiny_llama, noise=0.1), SHAPES["binary"])], context_limit=512
    )


@pytest.mark.parametrize(("make", "length"), [(chain, 0), (chain, 4), (tree, 8)])
def test_log_probabilities_are_those_of_a_plain_pass_drafted_or_not(make, length):
    engine = make()
    rows = engine.rows()
    texts = [
        rows.add(ids, Options(max_tokens=16, draft_length=length, **options), likeliest=most)
        for ids, options, most in ASKED
    ]
    while rows.busy:
        rows.step()
    assert bool(length) == any(read.accepted for text in texts for read in text.rounds)
    for text, (ids, _, most) in zip(texts, ASKED, strict=True):
        told = [each for read in text.rounds for each in read.likeliness]
        if most is None:
            assert told == []
            continue
        wanted = by_a_plain_pass(engine.target.model, text.tokens, len(ids), most)
        assert [[token for token, _ in each.top] for each in told] == [
            [token for token, _ in each.top] for each in wanted
        ]
        for each, right in zip(told, wanted, strict=True):
            assert each.own == pytest.approx(right.own, abs=1e-4)
            assert [log for _, log in each.top] == pytest.approx([log for _, log in right.top], abs=1e-4)
