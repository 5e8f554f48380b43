"""Passes of decoding as compiled functions. On the CPU backend MLX compiles with g++: `.ci/run` has it."""

import shutil

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec.engine import Engine
from mlx_spec.target import model as cached_model
from mlx_spec.types import Options
from tests.mlx_spec.tiny_models import (
    VOCAB,
    draft_model,
    engine_of,
    one_layer,
    prompt,
    tiny_gemma3,
    tiny_llama,
)

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="MLX compiles with g++, which is missing")


@pytest.fixture(autouse=True)
def compiling(monkeypatch):
    monkeypatch.setattr(cached_model, "COMPILES", True)
    mx.enable_compile()
    yield
    mx.disable_compile()


def texts(engine: Engine, **options) -> list[list[int]]:
    return [
        [t for r in engine.generate(prompt(200, 1), Options(max_tokens=64, **options)) for t in r.tokens]
        for _ in range(2)
    ]


@pytest.mark.parametrize("make, kv_bits", [(tiny_llama, None), (tiny_gemma3, None), (tiny_llama, 8)])
def test_compiled_passes_give_the_same_text(make, kv_bits):
    """Over a border where buffers grow, in a second turn too, with and without a draft."""
    big = {"dim": 256, "layers": 1} if kv_bits else {}
    engine = engine_of(make(0, **big), make(0, **big), context_limit=1000, kv_bits=kv_bits)
    assert engine.target.compiles and draft_model(engine).compiles
    engine.target.compiles = False
    wanted = texts(engine, temperature=0.9, drafter="none")
    engine.target.compiles = True
    assert texts(engine, temperature=0.9, drafter="none") == wanted
    assert texts(engine, temperature=0.9, drafter="model", draft_length=3) == wanted


def test_the_graph_of_a_pass_is_built_once_until_the_buffers_grow(monkeypatch):
    built = []
    pure = cached_model.Model._pure
    monkeypatch.setattr(
        cached_model.Model,
        "_pure",
        lambda self, ids, *rest: (built.append(ids.shape[1]), pure(self, ids, *rest))[1],
    )
    engine = engine_of(one_layer(0), one_layer(1), context_limit=1000)
    rounds = engine.generate(prompt(130, 1), Options(max_tokens=300, drafter="model", draft_length=3))
    read = [next(rounds) for _ in range(6)]
    built.clear()
    length = 130
    for _ in range(30):
        read.append(next(rounds))
    length += sum(len(r.tokens) for r in read)
    assert length < 250 and built == [], "the graph of a pass that recurs was built anew"
    while length < 260:
        length += len(next(rounds).tokens)
    assert sorted(built) == [1, 2, 4], "the buffers grew: one graph for each width, built once"


def test_a_round_that_builds_a_graph_tells_nothing_of_what_rounds_cost():
    engine = engine_of(one_layer(0), one_layer(1), context_limit=1000)
    builds, steady = [], []
    for k in (0, 3):
        before = engine.graphs_built
        for read in engine.generate(prompt(130, 1), Options(max_tokens=300, draft_length=k)):
            builds.append(engine.graphs_built > before)
            steady.append(read.steady)
            before = engine.graphs_built
    assert not any(s for s, built in zip(steady, builds, strict=True) if built)
    # At first and where the buffers grow; the graphs of a draft are built in one round.
    assert 4 <= sum(builds) <= 10 and sum(steady) > 100


def test_graphs_for_few_rows_are_kept_for_the_next_text(monkeypatch):
    built = []
    pure = cached_model.Model._pure
    monkeypatch.setattr(
        cached_model.Model,
        "_pure",
        lambda self, *given: (built.append(self._bounds.high), pure(self, *given))[1],
    )
    engine = engine_of(one_layer(0), one_layer(1), context_limit=1000)
    options = Options(max_tokens=200, drafter="model", draft_length=3)
    wanted = [r.tokens for r in engine.generate(prompt(20, 1), options)]
    assert {64, 128, 256} <= set(built), "few rows are read first"
    # The second time its first pass is one token wide.
    assert [r.tokens for r in engine.generate(prompt(20, 1), options)] == wanted
    built.clear()
    assert [r.tokens for r in engine.generate(prompt(20, 1), options)] == wanted
    assert built == []


def test_a_short_text_after_a_long_one_is_read_within_its_own_rows():
    """Else every pass would read the rows of the long one, and their memory would stay taken."""
    engine = engine_of(one_layer(0), one_layer(1), context_limit=2000)
    short = {"max_tokens": 40, "drafter": "model", "draft_length": 3}
    wanted = [r.tokens for r in engine.generate(prompt(20, 2), Options(**short))]
    list(engine.generate(prompt(700, 1), Options(**short)))
    assert [r.tokens for r in engine.generate(prompt(20, 2), Options(**short))] == wanted
    for model in (engine.target, draft_model(engine)):
        assert model._bounds.high <= 128
        assert all(rows.shape[2] <= 128 for buffer in model.buffers for rows in buffer.arrays)


class AsksTheDevice(nn.Module):
    """A model whose code looks at a value while its graph is built."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.layers = inner.layers

    def __call__(self, ids, cache):
        if not isinstance(cache[0].offset, int) and cache[0].offset.item() < 0:
            raise AssertionError
        return self.inner(ids, cache=cache)


def test_a_model_that_asks_the_device_while_building_runs_uncompiled():
    inner = one_layer()
    asking = cached_model.Model(AsksTheDevice(inner))
    assert not asking.compiles and asking.vocab == VOCAB
    engine = engine_of(inner, None, context_limit=400)
    wanted = texts(engine)
    engine.target = asking
    assert texts(engine) == wanted


@pytest.mark.parametrize("whose", ["target", "draft"])
def test_a_graph_that_could_not_be_finished_leaves_the_engine_usable(monkeypatch, whose):
    engine = engine_of(one_layer(0), one_layer(1), context_limit=1000)
    wanted = texts(engine, drafter="none")[0]
    broken = engine.target if whose == "target" else draft_model(engine)
    honest, left = cached_model.Model._pass, [1]

    def interrupted(self, ids, at, recurrent, tree=None):
        logits = honest(self, ids, at, recurrent, tree)
        if self is broken and not isinstance(at.value, int):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return logits

    monkeypatch.setattr(cached_model.Model, "_pass", interrupted)
    with pytest.raises(KeyboardInterrupt):
        texts(engine, drafter="model", draft_length=3)
    assert texts(engine, drafter="model", draft_length=3) == [wanted, wanted]
    assert engine.target.compiles and left[0] < 0
