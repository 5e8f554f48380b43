"""Buffers are rewound exactly, never write out of bounds, and are never copied whole in a round."""

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from mlx_spec import Options, UnsupportedModel
from mlx_spec.arrays import Length
from mlx_spec.target.cache import Buffer
from mlx_spec.target.model import Model
from mlx_spec.target.view import View
from tests.mlx_spec.architectures import ARCHITECTURES, nearly, quantizable, tiny_gemma3
from tests.mlx_spec.grid import grid
from tests.mlx_spec.tiny_models import draft_model, engine_of, one_layer, prompt, reference, text, tiny_llama


def quantizable_with_a_window(seed: int) -> nn.Module:
    return tiny_gemma3(seed, head_dim=64, sliding_window=40, query_pre_attn_scalar=64)


def furthest(model: Model, ids: list[int], bits: int | None = None) -> float:
    """The largest difference of its rows from those of a fresh start."""
    fresh = Model(model.model, bits)
    fresh.prefill(ids, count := model.seen[0])
    pairs = [
        (np.array(x[:, :, :count].astype(mx.float32)), np.array(y[:, :, :count].astype(mx.float32)))
        for ours, theirs in zip(model.buffers, fresh.buffers, strict=True)
        for x, y in zip(ours.arrays, theirs.arrays, strict=True)
    ]
    return max(float(np.abs(x - y).max()) for x, y in pairs)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        *grid(ARCHITECTURES, (None,), usual=[(name, None) for name in ("gemma3", "gemma4_shared")]),
        ("quantizable", 8),
    ],
)
def test_caches_after_many_rollbacks_equal_a_fresh_prefill(name, bits):
    make = quantizable if bits else ARCHITECTURES[name]
    engine = engine_of(make(0), nearly(make, noise=0.1), context_limit=2048, kv_bits=bits)
    ids = prompt(13, 2)
    whole = ids + text(engine, ids, max_tokens=28, drafter="model", draft_length=4)
    target, draft = engine.target, draft_model(engine)
    assert list(target.texts[0]) == whole and target.seen[0] >= len(whole) - 1
    assert draft.seen[0] >= len(whole) - 4
    assert furthest(target, whole, bits) < 1e-4 and furthest(draft, whole) < 1e-4


HONEST_WRITE = Buffer.write


def rows_left(buffer: Buffer, keys: mx.array, start) -> int:
    last = (start if isinstance(start, int) else start.item()) + keys.shape[2]
    assert last <= buffer.capacity
    return buffer.capacity - last


def test_a_bucket_border_is_crossed_inside_capacity_with_rounds_in_flight(monkeypatch):
    """A write past the end would corrupt memory: MLX checks no start that lives on the device."""
    target, ids, margins = one_layer(), prompt(240, 3), []
    engine = engine_of(target, nearly(one_layer), context_limit=4096)
    wanted = reference(target, ids, 24)

    def checked(self, keys, values, start, end):
        HONEST_WRITE(self, keys, values, start, end)
        margins.append(rows_left(self, keys, start))

    monkeypatch.setattr(Buffer, "write", checked)
    for length in (1, 7):
        assert text(engine, ids, max_tokens=24, drafter="model", draft_length=length) == wanted
    assert min(margins) < 8, "no write came near a border"


def test_mutant_capacity_bound_that_forgets_the_round_in_flight_is_caught(monkeypatch):
    def forgetful(self, keys, values, start, end):
        HONEST_WRITE(self, keys, values, start, end - 8)
        rows_left(self, keys, start)

    engine = engine_of(one_layer(), one_layer(), context_limit=4096)
    monkeypatch.setattr(Buffer, "write", forgetful)
    with pytest.raises((AssertionError, ValueError)):
        text(engine, prompt(230, 3), max_tokens=40, drafter="model", draft_length=7)


def test_a_round_copies_no_cache():
    """Peak memory of rounds against the size of the caches they write to, the draft's at every step."""
    engine = engine_of(tiny_llama(0, dim=256), tiny_llama(0, layers=1, dim=256), context_limit=16384)
    ids = prompt(1500, 1)
    text(engine, ids[:8], max_tokens=20, drafter="model", draft_length=6)
    engine.pretend_cached(ids)  # what the rows hold is no matter here
    rounds = engine.generate(ids, Options(max_tokens=160, drafter="model", draft_length=6))
    for _ in range(4):
        next(rounds)
    cache = sum(x.nbytes for buffer in engine.target.buffers for x in buffer.arrays)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    for _ in range(10):
        next(rounds)
    grown = mx.get_peak_memory() - before
    layer = cache / 4
    assert grown < 0.75 * layer, f"rounds needed {grown} bytes beside a cache of {cache}"


def test_memory_that_mlx_keeps_is_given_back_when_a_text_outgrows_its_rows():
    """On a Mac MLX keeps nearly all memory that is freed; here only as much as it is told."""
    engine, freed = engine_of(one_layer(), context_limit=512), 100_000_000
    limit = mx.set_cache_limit(2 * freed)
    try:
        mx.eval(mx.zeros((freed // 4,)))
        assert mx.get_cache_memory() >= freed
        text(engine, prompt(250), max_tokens=12, drafter="none")
        assert mx.get_cache_memory() < freed
    finally:
        mx.set_cache_limit(limit)


def test_mutant_a_buffer_held_elsewhere_is_copied_and_shows_in_the_peak():
    """The test above would see a copy."""
    buffer = Buffer()
    big = mx.zeros((1, 4, 8192, 64))
    buffer.write(big, big, 0, 8192)
    mx.eval(buffer.arrays)
    held = buffer.arrays
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    row = mx.ones((1, 4, 1, 64))
    buffer.write(row, row, mx.array([5], mx.int32), 8192)
    mx.eval(buffer.arrays)
    assert mx.get_peak_memory() - before > 0.9 * big.nbytes
    assert held[0][0, 0, 5, 0].item() == 0


@pytest.mark.parametrize(("make", "bits"), [(quantizable, 4), (quantizable_with_a_window, 8)])
def test_quantized_caches_give_the_same_text_drafted_or_not(make, bits):
    engine, ids = engine_of(make(0), nearly(make), context_limit=2048, kv_bits=bits), prompt(20, 5)
    wanted = text(engine, ids, max_tokens=30, drafter="none")
    for drafter, length in (("model", 3), ("auto", 5)):
        assert text(engine, ids, max_tokens=30, drafter=drafter, draft_length=length) == wanted


@pytest.mark.parametrize("settings", [{"bits": 4}, {"mode": "mxfp4"}], ids=str)
def test_quantized_weights_give_mlx_lm_text_drafted_or_not(settings):
    target, draft = one_layer(), nearly(one_layer)
    for model in (target, draft):
        nn.quantize(model, group_size=32, **settings)
    engine, ids = engine_of(target, draft, context_limit=2048), prompt(9, 4)
    wanted = reference(target, ids, 30)
    assert text(engine, ids, max_tokens=30, drafter="none") == wanted
    assert text(engine, ids, max_tokens=30, drafter="model", draft_length=3) == wanted


class Positional(nn.Module):
    """A model that needs its offset as a number, as `mx.arange` does."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.layers = [1]

    def __call__(self, ids, cache=None):
        first = cache[0].offset  # pyright: ignore
        rows = mx.arange(first, first + ids.shape[1])[:, None]
        return self.embed.as_linear(self.embed(ids) + rows)


class Own:
    """A cache of a model's own kind."""


class Peculiar(Positional):
    def make_cache(self):
        return [Own()]


class Foreign(Positional):
    def __call__(self, ids, cache=None):
        return cache[0].state  # pyright: ignore


@pytest.mark.parametrize(
    ("target", "draft", "why"),
    [(Peculiar, None, "Own"), (one_layer, Peculiar, "Own"), (Foreign, None, "rewinds")],
)
def test_a_model_that_cannot_run_with_our_caches_is_refused_at_load(target, draft, why):
    with pytest.raises(UnsupportedModel, match=why):
        engine_of(target(), draft and draft(), context_limit=64)


def test_rounds_of_a_model_that_needs_its_offset_on_the_host_are_read_at_once():
    assert engine_of(one_layer(), context_limit=64).drafts_in_flight == 1
    for pair in ((Positional(), None), (one_layer(), Positional())):
        assert engine_of(*pair, context_limit=64).drafts_in_flight == 0


def test_a_window_that_fills_during_prefill_reads_only_the_window():
    model = Model(tiny_gemma3(0))
    model.prefill(prompt(1100, 6), 1099)
    sliding = next(b for b in model.buffers if b.window)
    view = View(sliding, Length.exact(1099))
    view.update_and_fetch(mx.zeros((1, 2, 1, 8)), mx.zeros((1, 2, 1, 8)))
    assert view.keys_and_values()[0].shape[2] == 24
