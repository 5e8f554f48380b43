"""Buffers go back exactly, never write out of bounds, and are never copied whole in a round."""

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.generate import generate_step

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.arrays import Length
from mlx_spec.target.cache import Buffer
from mlx_spec.target.model import Model
from mlx_spec.target.view import View
from tests.mlx_spec.tiny_models import (
    ARCHITECTURES,
    draft_model,
    engine_of,
    nearly,
    prompt,
    settled,
    tiny_gemma3,
    tiny_llama,
)


def text(engine: Engine, ids: list[int], **options) -> list[int]:
    return [t for r in engine.generate(ids, Options(**options)) for t in r.tokens]


def rows(model: Model, count: int) -> list[mx.array]:
    return [x[:, :, :count].astype(mx.float32) for buffer in model.buffers for x in buffer.arrays]


def furthest(a: Model, b: Model, count: int) -> float:
    pairs = zip(rows(a, count), rows(b, count), strict=True)
    return max(float(np.abs(np.array(x) - np.array(y)).max()) for x, y in pairs)


@pytest.mark.parametrize(("name", "bits"), [*((name, None) for name in ARCHITECTURES), ("llama", 8)])
def test_caches_after_many_rollbacks_equal_a_fresh_prefill(name, bits):
    make = ARCHITECTURES[name] if not bits else (lambda seed: tiny_llama(seed, dim=256))
    engine = engine_of(make(0), nearly(make, noise=0.1), context_limit=2048, kv_bits=bits)
    ids = prompt(13, 2)
    out = text(engine, ids, max_tokens=60, drafter="model", draft_length=4)
    target, draft = engine.target, draft_model(engine)
    assert list(target.texts[0]) == ids + out and target.seen[0] >= len(ids + out) - 1
    fresh = Model(target.model, bits)
    fresh.prefill(ids + out, target.seen[0])
    assert furthest(target, fresh, target.seen[0]) < 1e-4
    assert draft.seen[0] >= len(ids + out) - 4
    fresh = Model(draft.model)
    fresh.prefill(ids + out, draft.seen[0])
    assert furthest(draft, fresh, draft.seen[0]) < 1e-4


def test_every_bucket_border_is_crossed_inside_capacity_with_rounds_in_flight(monkeypatch):
    """A write past the end would corrupt memory: MLX checks no start that lives on the device."""
    target = tiny_llama(0, layers=1)
    engine, ids = (
        engine_of(target, nearly(lambda s: tiny_llama(s, layers=1)), context_limit=4096),
        prompt(230, 3),
    )
    wanted = [int(t) for t, _ in generate_step(mx.array(ids), target, max_tokens=340)]
    margins, write = [], Buffer.write

    def checked(self, keys, values, start, end):
        write(self, keys, values, start, end)
        first = start if isinstance(start, int) else start.item()
        margins.append(self.capacity - (first + keys.shape[2]))
        assert first + keys.shape[2] <= end <= self.capacity

    monkeypatch.setattr(Buffer, "write", checked)
    for length in (1, 4, 7):
        assert text(engine, ids, max_tokens=340, drafter="model", draft_length=length) == wanted
    assert min(margins) == 0 or min(margins) < 8, "no write came near a border"


def test_mutant_capacity_bound_that_forgets_the_round_in_flight_is_caught(monkeypatch):
    engine = engine_of(tiny_llama(0, layers=1), tiny_llama(0, layers=1), context_limit=4096)
    write = Buffer.write

    def forgetful(self, keys, values, start, end):
        write(self, keys, values, start, end - 8)
        first = start if isinstance(start, int) else start.item()
        assert first + keys.shape[2] <= self.capacity

    monkeypatch.setattr(Buffer, "write", forgetful)
    with pytest.raises((AssertionError, ValueError)):
        text(engine, prompt(230, 3), max_tokens=100, drafter="model", draft_length=7)


def test_a_round_copies_no_cache():
    """Peak memory of rounds against the size of the caches they write to, the draft's at every step."""
    engine = engine_of(
        tiny_llama(0, layers=2, dim=256), tiny_llama(0, layers=1, dim=256), context_limit=16384
    )
    ids = prompt(3000, 1)
    text(engine, ids[:8], max_tokens=20, drafter="model", draft_length=6)
    engine.pretend_cached(ids)  # what the rows hold is no matter here
    rounds = engine.generate(ids, Options(max_tokens=160, drafter="model", draft_length=6))
    for _ in range(4):
        next(rounds)
    cache = sum(x.nbytes for buffer in engine.target.buffers for x in buffer.arrays)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    for _ in range(20):
        next(rounds)
    grown = mx.get_peak_memory() - before
    layer = cache / 4
    assert grown < 0.75 * layer, f"rounds needed {grown} bytes beside a cache of {cache}"


def test_a_held_handle_makes_the_copy_that_the_peak_would_show():
    """The mutant of the test above: what it measures does appear when a buffer is held elsewhere."""
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


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("window", [None, 40])
def test_quantized_caches_give_the_same_text_drafted_or_not(bits, window):
    def make(seed):
        if window is None:
            return tiny_llama(seed, layers=1, dim=256)
        from mlx_lm.models import gemma3_text

        args = gemma3_text.ModelArgs(
            model_type="gemma3_text", hidden_size=64, num_hidden_layers=2, intermediate_size=128,
            num_attention_heads=2, num_key_value_heads=1, head_dim=64, vocab_size=120,
            sliding_window=window, sliding_window_pattern=2, query_pre_attn_scalar=64,
        )  # fmt: skip
        return settled(gemma3_text.Model(args), seed)

    ids = prompt(20, 5)
    engine = engine_of(make(0), nearly(make), context_limit=2048, kv_bits=bits)
    wanted = text(engine, ids, max_tokens=50, drafter="none")
    for length in (1, 3):
        assert text(engine, ids, max_tokens=50, drafter="model", draft_length=length) == wanted
    assert text(engine, ids, max_tokens=50, drafter="auto", draft_length=5) == wanted


@pytest.mark.parametrize(
    "settings",
    [{"bits": 2}, {"bits": 3}, {"bits": 4}, {"bits": 6}, {"bits": 8}, {"mode": "mxfp4", "group_size": 32}],
    ids=lambda s: s.get("mode", f"affine{s.get('bits')}"),
)
def test_quantized_weights_give_mlx_lm_text_drafted_or_not(settings):
    target, draft = tiny_llama(0, dim=64), nearly(lambda s: tiny_llama(s, dim=64))
    for model in (target, draft):
        nn.quantize(model, **{"group_size": 32, **settings})
    ids = prompt(9, 4)
    wanted = [int(t) for t, _ in generate_step(mx.array(ids), target, max_tokens=30)]
    engine = engine_of(target, draft, context_limit=2048)
    assert text(engine, ids, max_tokens=30, drafter="none") == wanted
    assert text(engine, ids, max_tokens=30, drafter="model", draft_length=3) == wanted


def test_a_view_with_bounds_masks_like_one_that_knows():
    """Same rows, same offset: the mask built on the device hides exactly what exact slices leave out."""
    for window in (None, 16):
        buffer = Buffer(window)
        keys = mx.random.normal((1, 1, 90, 8))
        buffer.write(keys, keys, 0, 90)
        exact = View(buffer, Length.exact(80))
        lazy = View(buffer, Length(mx.array([80], mx.int32), 77, 85))
        known = exact.make_mask(4, return_array=True)
        guessed = lazy.make_mask(4)
        first = 0 if window is None else max(0, 80 + 1 - window)
        lead = 0 if window is None else (77 + 1 - window) // 64 * 64
        assert mx.array_equal(guessed[:, first - lead : first - lead + known.shape[1]], known)
        assert guessed.sum().item() == known.sum().item()


class Own:
    """A cache of a model's own kind."""


class Positional(nn.Module):
    """Needs its offset as a number, as `mx.arange` does."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.layers = [1]

    def __call__(self, ids, cache=None):
        first = cache[0].offset  # pyright: ignore
        rows = mx.arange(first, first + ids.shape[1])[:, None]
        return self.embed.as_linear(self.embed(ids) + rows)


def test_a_cache_of_an_unknown_kind_is_refused_at_load_by_name():
    class Peculiar(Positional):
        def make_cache(self):
            return [Own()]

    for pair in ((Peculiar(), None), (tiny_llama(0), Peculiar())):
        with pytest.raises(UnsupportedModel, match="Own"):
            engine_of(*pair, context_limit=64)


def test_a_model_that_cannot_run_with_our_caches_is_refused_at_load():
    class Foreign(Positional):
        def __call__(self, ids, cache=None):
            return cache[0].state  # pyright: ignore

    with pytest.raises(UnsupportedModel, match="rewinds"):
        engine_of(Foreign(), context_limit=64)


def test_rounds_of_a_model_that_needs_its_offset_on_the_host_are_read_at_once():
    assert engine_of(tiny_llama(0), context_limit=64).drafts_in_flight == 1
    for pair in ((Positional(), None), (tiny_llama(0), Positional())):
        assert engine_of(*pair, context_limit=64).drafts_in_flight == 0


def test_a_window_that_fills_during_prefill_reads_only_the_window():
    model = Model(tiny_gemma3(0))
    ids = prompt(1100, 6)
    model.prefill(ids, 1099)
    sliding = next(b for b in model.buffers if b.window)
    view = View(sliding, Length.exact(1099))
    view.update_and_fetch(mx.zeros((1, 2, 1, 8)), mx.zeros((1, 2, 1, 8)))
    assert view.keys_and_values()[0].shape[2] == 24
