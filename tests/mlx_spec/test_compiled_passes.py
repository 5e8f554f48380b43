"""Passes of decoding as compiled functions. On the CPU backend MLX compiles with g++.

That takes most of a second for each kind of kernel, on a machine's first run: other models are slow tests.
"""

import os
import subprocess
import sys
from itertools import islice

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.dflash import DFlashDrafter
from mlx_spec.drafters.layer_skip import LayerSkipDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.pard import PardDrafter
from mlx_spec.engine import Engine
from mlx_spec.target import compiled
from mlx_spec.target.compiled import CompiledPasses
from mlx_spec.target.model import Model
from mlx_spec.types import Options
from tests.mlx_spec.architectures import nearly, quantizable, tiny_gemma3
from tests.mlx_spec.dflash_heads import SHAPE, random_head
from tests.mlx_spec.heads import target
from tests.mlx_spec.proof_drafters import BINARY, LOPSIDED, Branching
from tests.mlx_spec.tiny_models import (
    VOCAB,
    draft_model,
    engine_of,
    one_layer,
    prompt,
    reference,
    text,
    tiny_llama,
    tokens,
)

pytestmark = pytest.mark.usefixtures("compiling")

DRAFTED = {"drafter": "model", "draft_length": 3}


def twice(engine: Engine, **options) -> list[list[int]]:
    """Two turns, past the length at which buffers grow."""
    return [text(engine, prompt(246, 1), max_tokens=16, **options) for _ in range(2)]


@pytest.mark.parametrize(
    ("make", "kv_bits"),
    [
        (tiny_llama, None),
        pytest.param(tiny_gemma3, None, marks=pytest.mark.slow),
        pytest.param(quantizable, 8, marks=pytest.mark.slow),
    ],
)
def test_compiled_passes_give_the_same_text(make, kv_bits):
    engine = engine_of(make(0), make(0), context_limit=1000, kv_bits=kv_bits)
    assert engine.target.compiles and draft_model(engine).compiles
    engine.target.compiles = False
    wanted = twice(engine, temperature=0.9, drafter="none")
    engine.target.compiles = True
    assert twice(engine, temperature=0.9, drafter="none") == wanted
    assert twice(engine, temperature=0.9, **DRAFTED) == wanted


def test_the_graph_of_a_pass_is_built_once_until_the_buffers_grow():
    """A round that builds one is not steady."""
    engine = engine_of(one_layer(0), one_layer(1), context_limit=1000)
    length, built = 200, [0]
    for read in engine.generate(prompt(200, 1), Options(max_tokens=300, **DRAFTED)):
        length += len(read.tokens)
        built.append(engine.target.graphs_built + draft_model(engine).graphs_built)
        if built[-1] > built[-2] and len(built) > 7:
            assert not read.steady and 250 < length < 260, "the graph of a pass that recurs was built anew"
        if length > 260:
            break
    assert built[-1] == built[6] + 3, "the buffers grew: one graph for each width, 1, 2 and 4"


def test_graphs_are_kept_for_the_next_texts_but_not_all(monkeypatch):
    monkeypatch.setattr(compiled, "KEPT", 12)
    engine = engine_of(one_layer(0), one_layer(1), context_limit=3000)
    answers, built = [], []
    for length in (20, 700, 20, 700, 20, 700, *range(300, 1400, 256), 20):
        answers.append(text(engine, prompt(length, 1), max_tokens=16, **DRAFTED))
        built.append(engine.target.graphs_built + draft_model(engine).graphs_built)
    assert answers[0] == answers[2] == answers[4] == answers[-1] and answers[1] == answers[3] == answers[5]
    # The second time a text's first pass is one token wide.
    assert built[3] - built[1] <= 4 and built[5] == built[3], "those of both texts are kept"
    assert built[-1] > built[-2], "those of many others are not"


def test_if_no_function_could_be_compiled_for_a_range_of_rows_the_one_before_is_not_taken_for_it(monkeypatch):
    passes = CompiledPasses(lambda *given: given)
    short, long = (Pass(mx.zeros((1, 1), mx.int32), Length.exact(start)) for start in (10, 600))
    passes.fit(short, [])
    before = passes.bounds, passes.run

    def interrupted(function):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(mx, "compile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        passes.fit(long, [])
    assert (passes.bounds, passes.run) == before
    passes.fit(long, [])
    assert passes.bounds.high == 768 and passes.run != before[1]


def test_a_short_text_after_a_long_one_is_read_within_its_own_rows():
    """Else every pass would read the rows of the long one, and their memory would not be freed."""
    engine = engine_of(one_layer(0), one_layer(1), context_limit=2000)
    wanted = text(engine, prompt(20, 2), max_tokens=16, **DRAFTED)
    text(engine, prompt(300, 1), max_tokens=16, **DRAFTED)
    assert text(engine, prompt(20, 2), max_tokens=16, **DRAFTED) == wanted
    for model in (engine.target, draft_model(engine)):
        assert all(rows.shape[2] <= 128 for buffer in model.buffers for rows in buffer.arrays)


class AsksTheDevice(nn.Module):
    """A model whose code reads a value from the device while its graph is built."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.layers = inner.layers

    def __call__(self, ids, cache):
        if not isinstance(cache[0].offset, int) and cache[0].offset.item() < 0:
            raise AssertionError
        return self.inner(ids, cache=cache)


def test_a_model_that_asks_the_device_while_building_runs_uncompiled():
    engine = engine_of(one_layer(), context_limit=400)
    asking = engine_of(AsksTheDevice(one_layer()), context_limit=400)
    assert not asking.target.compiles and asking.target.vocab == VOCAB
    assert twice(asking) == twice(engine)


def skipping() -> Engine:
    target = tiny_llama(0)
    return Engine(target, [LayerSkipDrafter(target, [0])], context_limit=1000)


def with_a_draft() -> Engine:
    return engine_of(one_layer(0), one_layer(1), context_limit=1000)


@pytest.mark.parametrize(
    ("make", "of"),
    [
        (with_a_draft, "draft"),
        (skipping, "draft"),
        pytest.param(with_a_draft, "target", marks=pytest.mark.slow),
    ],
)
def test_a_graph_that_could_not_be_finished_leaves_the_engine_usable(monkeypatch, make, of):
    """Its rows, which may be the target's own, do not count as read."""
    engine = make()
    wanted = twice(engine, drafter="none")
    broken = engine.target if of == "target" else draft_model(engine)
    honest, left = Model._pass, [1]

    def interrupted(self, ids, at, recurrent, tree=None, hidden=None):
        logits = honest(self, ids, at, recurrent, tree, hidden)
        if self is broken and not isinstance(at.value, int):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return logits

    monkeypatch.setattr(Model, "_pass", interrupted)
    with pytest.raises(KeyboardInterrupt):
        twice(engine, draft_length=3)
    assert twice(engine, draft_length=3) == wanted
    assert broken.compiles and engine.target.compiles and left[0] < 0


def test_an_interruption_while_the_rows_are_taken_back_leaves_the_engine_usable(monkeypatch):
    engine = with_a_draft()
    wanted, honest, left = twice(engine, drafter="none"), Model._hold, [20]

    def interrupted(self, rows):
        left[0] -= self is engine.target
        if left[0] == 0 and self is engine.target:
            raise KeyboardInterrupt
        honest(self, rows)

    monkeypatch.setattr(Model, "_hold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        twice(engine, draft_length=3)
    assert twice(engine, draft_length=3) == wanted and left[0] < 0


def test_one_compiled_graph_reads_trees_of_any_shape():
    """Without the last rounds, whose trees are smaller: each size has a graph of its own."""
    target, draft, ids = tiny_llama(0), nearly(tiny_llama, noise=0.1), prompt(40, 1)
    drafters = [Branching(draft, shape) for shape in (LOPSIDED, BINARY[: len(LOPSIDED)])]
    drafters[1].name = "other"
    engine, wanted = Engine(target, drafters, context_limit=400), reference(target, ids, 60)
    built = []
    for drafter in drafters:
        asked = Options(max_tokens=60, drafter=drafter.name, draft_length=8)
        rounds = list(islice(engine.generate(ids, asked), 12))
        assert tokens(rounds) == wanted[: len(tokens(rounds))]
        assert {len(each.drafted) for each in rounds[1:]} == {8} and sum(each.accepted for each in rounds) > 5
        built.append(engine.target.graphs_built)
    assert built[1] == built[0] + 1, "for the first round, which is one row"


def pard() -> PardDrafter:
    return PardDrafter(tiny_llama(0), VOCAB - 1)


def smaller() -> ModelDrafter:
    return ModelDrafter(tiny_llama(3, vocab=VOCAB // 2))


def block() -> DFlashDrafter:
    return DFlashDrafter(random_head(SHAPE), "dflash")


@pytest.mark.parametrize("make", [pard, smaller, pytest.param(block, marks=pytest.mark.slow)])
def test_drafts_are_the_same_compiled(make):
    """Rows of the text and of masks, whose number changes with what was accepted; ids the draft lacks."""

    def drafted(compiles: bool) -> list[tuple[int, ...]]:
        drafter = make()
        drafter.cached.compiles = compiles and drafter.cached.compiles
        assert drafter.cached.compiles is compiles
        engine = Engine(target(), [drafter], context_limit=1000)
        options = Options(max_tokens=24, temperature=0.9, drafter=drafter.name, draft_length=3)
        return [read.drafted for read in engine.generate(prompt(40, 1), options)]

    assert any(found := drafted(True)) and found == drafted(False)


KERNELS = """
import sys
from itertools import cycle
from pathlib import Path

import mlx.core as mx

from mlx_spec.target import model

model.COMPILES = True
mx.enable_compile()

from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.engine import Engine
from mlx_spec.policy.policy import Fixed
from tests.mlx_spec.heads import head_for, target
from tests.mlx_spec.tiny_models import prompt, text


class InTurn(Fixed):
    turns = cycle(range(3))

    def choose(self, candidates, length):
        return candidates[next(self.turns)], self.length


for length, depth in ((100, 3), (600, 3), (900, 4)):
    engine = Engine(target(), [EagleDrafter(head_for(target()))], context_limit=2000)
    engine.controller = InTurn(depth)
    text(engine, prompt(length, 1), max_tokens=24, drafter="eagle")
    print(len(list(Path(sys.argv[1]).rglob("*.cpp"))))
"""


@pytest.mark.slow
def test_chains_and_trees_of_heads_have_the_same_kernels_for_every_length_of_text_and_draft(tmp_path):
    """On a Mac and on other GPUs too, building one stops the answer."""
    ran = subprocess.run(
        [sys.executable, "-c", KERNELS, str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, *others = map(int, ran.stdout.split())
    assert first > 5 and set(others) == {first}
