"""Several texts in one batch: each is the text of a run alone (`test_rows.py` has the mutants)."""

import gc
import weakref

import pytest

from mlx_spec import Engine, Options
from tests.mlx_spec.grid import grid
from tests.mlx_spec.proof_drafters import BINARY, LOPSIDED, Branching
from tests.mlx_spec.tiny_models import (
    ARCHITECTURES,
    engine_of,
    nearly,
    one_layer,
    prompt,
    quantizable,
    text,
    tiny_llama,
    together,
    tokens,
)

PROMPTS = [prompt(40, 1), prompt(17, 2) * 2, prompt(29, 3)]
LENGTHS = [20, 7, 26]
"""The second ends early."""


def alone(engine: Engine, **options) -> list[list[int]]:
    return [
        text(engine, ids, max_tokens=count, drafter="none", **options)
        for ids, count in zip(PROMPTS, LENGTHS, strict=True)
    ]


def written(engine: Engine, **options) -> list[list[int]]:
    each = [Options(max_tokens=count, **options) for count in LENGTHS]
    return [tokens(rounds) for rounds in together(engine, PROMPTS, each)]


@pytest.mark.parametrize(
    ("name", "temperature"),
    grid(ARCHITECTURES, (0.0, 0.8), usual=[("llama", 0.8), ("gemma3", 0.0)]),
)
def test_three_ragged_texts_are_those_of_single_runs(name, temperature):
    make = ARCHITECTURES[name]
    engine = engine_of(make(0), nearly(make, noise=0.1), context_limit=512)
    sampled = {"temperature": temperature, "seed": 4}
    wanted = alone(engine, **sampled)
    for drafter, length in (("none", None), ("model", 3), ("lookup", 3), ("auto", None)):
        assert written(engine, drafter=drafter, draft_length=length, **sampled) == wanted
    assert alone(engine, **sampled) == wanted, "a single text goes on as before"


@pytest.mark.parametrize(
    ("shape", "make", "kv_bits", "temperature"),
    [
        (BINARY, tiny_llama, None, 0.8),
        (LOPSIDED, one_layer, None, 0.0),
        pytest.param(BINARY, quantizable, 8, 0.0, marks=pytest.mark.slow),
        (LOPSIDED, quantizable, 8, 0.8),
    ],
)
def test_three_ragged_texts_take_trees(shape, make, kv_bits, temperature):
    engine = Engine(make(0), [Branching(nearly(make, noise=0.1), shape)], context_limit=512, kv_bits=kv_bits)
    sampled = {"temperature": temperature, "seed": 4}
    assert written(engine, drafter="branching", draft_length=8, **sampled) == alone(engine, **sampled)


def test_nothing_is_kept_of_a_text_that_is_cancelled_before_it_began():
    class Report:
        def __call__(self, done: int, total: int) -> None: ...

    rows = engine_of(one_layer(), context_limit=512).rows(1)
    first, report = rows.add(prompt(9, 0), Options(max_tokens=4)), Report()
    kept = weakref.ref(report)
    rows.cancel(rows.add(prompt(9, 1), Options(), progress=report))
    del report
    while rows.busy:
        rows.step()
    assert len(first.tokens) == 13
    gc.collect()
    assert kept() is None
