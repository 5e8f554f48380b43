"""Several texts in one loop: each is the text of its own run, whatever the others do."""

import mlx.core as mx
import pytest

from mlx_spec import BadOption, Engine, Options
from mlx_spec.batch import Batch
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.target.view import View
from tests.mlx_spec.model_types import build
from tests.mlx_spec.proof_drafters import BINARY, LOPSIDED, Branching
from tests.mlx_spec.tiny_models import ARCHITECTURES, nearly, prompt, tiny_llama

PROMPTS = [prompt(40, 1), prompt(17, 2) * 2, prompt(29, 3)]
LENGTHS = [30, 7, 45]
"""The second ends early."""


def alone(engine: Engine, **options) -> list[list[int]]:
    return [
        [
            t
            for r in engine.generate(ids, Options(max_tokens=count, drafter="none", **options))
            for t in r.tokens
        ]
        for ids, count in zip(PROMPTS, LENGTHS, strict=True)
    ]


def together(engine: Engine, **options) -> list[list[int]]:
    texts: list[list[int]] = [[], [], []]
    each = [Options(max_tokens=count, **options) for count in LENGTHS]
    for i, read in engine.generate_batch(PROMPTS, each):
        texts[i] += read.tokens
    return texts


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_three_ragged_texts_are_those_of_single_runs(name, temperature):
    make = ARCHITECTURES[name]
    engine = Engine(make(0), [LookupDrafter(), ModelDrafter(nearly(make, noise=0.1))], context_limit=512)
    sampled = {"temperature": temperature, "seed": 4}
    wanted = alone(engine, **sampled)
    for drafter, length in (("none", None), ("model", 3), ("lookup", 3), ("auto", None)):
        assert together(engine, drafter=drafter, draft_length=length, **sampled) == wanted
    assert alone(engine, **sampled) == wanted, "a single text goes on as before"


@pytest.mark.parametrize("shape", [BINARY, LOPSIDED], ids=["binary", "lopsided"])
@pytest.mark.parametrize("kv_bits", [None, 8])
def test_three_ragged_texts_take_trees(shape, kv_bits):
    def make(seed: int):
        return tiny_llama(seed, dim=256 if kv_bits else 32)

    engine = Engine(make(0), [Branching(nearly(make, noise=0.1), shape)], context_limit=512, kv_bits=kv_bits)
    for temperature in (0.0, 0.8):
        sampled = {"temperature": temperature, "seed": 4}
        depth = engine.drafters[0].depth  # type: ignore[attr-defined]
        assert together(engine, drafter="branching", draft_length=depth, **sampled) == alone(
            engine, **sampled
        )


def starts_of_the_first(self, count, first, last, window):
    return mx.arange(first, last) <= (mx.array(self.at.value)[:1, None] + mx.arange(count))[:, :, None]


@pytest.mark.parametrize("mutant", ["one mask for all", "all grow alike"])
def test_a_broken_batch_is_caught(monkeypatch, mutant):
    engine = Engine(tiny_llama(0), [ModelDrafter(nearly(tiny_llama, noise=0.1))], context_limit=512)
    wanted = alone(engine)
    if mutant == "one mask for all":
        monkeypatch.setattr(View, "_chain_mask", starts_of_the_first)
    else:
        append = Batch.append

        def alike(self, draft, verdict):
            same = mx.broadcast_to(verdict.accepted[:1], verdict.accepted.shape)
            object.__setattr__(verdict, "accepted", same)
            return append(self, draft, verdict)

        monkeypatch.setattr(Batch, "append", alike)
    assert together(engine, drafter="model", draft_length=3) != wanted


def test_a_recurrent_target_writes_one_text_at_a_time():
    engine = Engine(build("qwen3_5"), context_limit=512)
    with pytest.raises(BadOption, match="one text at a time"):
        together(engine)
