"""Turns of a chat, stops, limits, cancelling: the state afterwards is always right.

D1 to D8 are known defects of mlx-lm's speculative decoding; each has a test of its name here, except D4 (an
invalid token limit), which is in test_options.py.
"""

import mlx.core as mx
import pytest
from mlx_lm.sample_utils import make_logits_processors

from mlx_spec import BadOption, ContextFull, Engine, Options, SpecError, UnsupportedModel
from mlx_spec.batch import Batch
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.policy.policy import Fixed
from tests.mlx_spec.architectures import nearly, quantizable, tiny_gemma3, tiny_gemma4, tiny_sliding_llama
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, reference, text, tiny_llama, tokens

DRAFTERS = ["none", "model", "lookup", "auto"]


@pytest.fixture
def engine() -> Engine:
    return engine_of(one_layer(0), nearly(one_layer, noise=0.05), context_limit=2048)


@pytest.mark.parametrize("start", [pytest.param(15, marks=pytest.mark.slow), 29])
def test_d1_a_sliding_window_stays_right_when_it_fills(start):
    target = tiny_sliding_llama(0)
    engine = engine_of(target, nearly(tiny_sliding_llama, noise=0.1), context_limit=2048)
    ids = prompt(start, 7)
    assert text(engine, ids, max_tokens=20, drafter="model", draft_length=3) == reference(target, ids, 20)


@pytest.mark.parametrize("make", [tiny_gemma3, pytest.param(tiny_gemma4, marks=pytest.mark.slow)])
def test_d2_every_turn_of_a_chat_equals_a_fresh_start(make):
    target = make(0)
    engine = engine_of(target, nearly(make, noise=0.05), context_limit=2048)
    conversation: list[int] = []
    for turn in range(4):
        conversation += prompt(6, 20 + turn)
        out = text(engine, conversation, max_tokens=11 + turn, drafter="model", draft_length=1 + turn)
        assert out == reference(target, conversation, 11 + turn)
        if turn:
            assert engine.stats([]).cached_tokens >= len(conversation) - 6 - 1
        conversation += out


@pytest.mark.parametrize("count", [20, 150], ids=["a tail of the first round", "a prefill"])
def test_a_chat_that_branches_is_read_again_from_where_it_differs(count):
    target = one_layer(0)
    engine = engine_of(target, target, context_limit=2048)
    text(engine, prompt(200, 1), max_tokens=20, drafter="model", draft_length=3)
    other = prompt(200, 1)[:50] + prompt(count, 2)
    rounds = list(engine.generate(other, Options(max_tokens=30, drafter="model", draft_length=3)))
    assert tokens(rounds) == reference(target, other, 30)
    stats = engine.stats(rounds)
    assert stats.cached_tokens == 50 and stats.acceptance_rate == 1


@pytest.mark.parametrize("make", [tiny_gemma4, tiny_gemma3])
def test_d3_d6_with_shared_caches_or_past_a_window_a_target_drafts_for_itself_without_a_rejection(make):
    target, ids = make(0), prompt(12, 1)
    engine = engine_of(target, target, context_limit=2048)
    assert make is tiny_gemma3 or len(engine.target.buffers) == 2, "the last two of four layers have none"
    rounds = list(engine.generate(ids, Options(max_tokens=28, drafter="model", draft_length=3)))
    assert tokens(rounds) == reference(target, ids, 28)
    assert engine.stats(rounds).acceptance_rate == 1


def test_d5_a_draft_joins_a_chat_that_began_without_one(engine):
    ids = prompt(15, 3)
    later = ids + text(engine, ids, max_tokens=10, drafter="none") + prompt(4, 4)
    wanted = reference(engine.target.model, later, 16)
    assert text(engine, later, max_tokens=16, drafter="model", draft_length=3) == wanted
    assert engine.stats([]).cached_tokens >= len(ids)


@pytest.mark.parametrize(
    ("penalty", "length"), [(1.3, 1), (0.8, 11), pytest.param(1.3, 40, marks=pytest.mark.slow)]
)
def test_d7_penalties_see_the_prompt_and_the_drafted_prefix(engine, penalty, length):
    ids, model = prompt(length, 8), engine.target.model
    processors = make_logits_processors(repetition_penalty=penalty)
    wanted = reference(model, ids, 24, logits_processors=processors)
    assert wanted != reference(model, ids, 24)
    options = {"max_tokens": 24, "draft_length": 4, "repetition_penalty": penalty}
    for drafter in ("none", "model", "auto"):
        assert text(engine, ids, drafter=drafter, **options) == wanted


def test_d8_a_quantized_cache_holds_the_same_rows_drafted_or_not():
    engine = engine_of(quantizable(), nearly(quantizable), context_limit=512, kv_bits=4)
    ids, held = prompt(20, 2), []
    for drafter, length in (("none", None), ("model", 4)):
        engine.target.forget()
        text(engine, ids, max_tokens=30, drafter=drafter, draft_length=length)
        held.append([mx.array(x[:, :, :49]) for b in engine.target.buffers for x in b.arrays])
        mx.eval(held[-1])
    assert all(mx.array_equal(a, b) for a, b in zip(*held, strict=True))


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_max_tokens_is_exact(engine, drafter):
    ids = prompt(9, 1)
    wanted = reference(engine.target.model, ids, 9)
    for limit in (1, 2, 4, 9):
        rounds = list(engine.generate(ids, Options(max_tokens=limit, drafter=drafter, draft_length=3)))
        assert tokens(rounds) == wanted[:limit]
        assert drafter != "model" or limit < 4 or any(r.drafted for r in rounds)
        assert [r.stop for r in rounds] == [None] * (len(rounds) - 1) + ["length"]


@pytest.mark.parametrize("in_flight", [0, 1])
def test_a_stop_token_ends_the_text_wherever_in_a_round_it_falls(engine, in_flight):
    """A round whose draft it cuts short is not steady."""
    engine.drafts_in_flight = bool(in_flight)
    ids, model, places = prompt(9, 1), engine.target.model, set()
    wanted = reference(model, ids, 40)
    for stop in list(dict.fromkeys(wanted[1:30]))[in_flight::4]:
        upto = wanted[: wanted.index(stop) + 1]
        options = Options(drafter="model", draft_length=4, stop_tokens=frozenset([stop]))
        rounds = list(engine.generate(ids, options))
        last = rounds[-1]
        assert tokens(rounds) == upto and last.stop == "stop" and last.accepted <= len(last.tokens)
        assert len(last.drafted) in (0, 4) or not last.steady
        assert in_flight or all(r.steady for r in rounds[4:-1] if r.draft_seconds is None)
        places.add(len(last.tokens))
        after = ids + upto + [5, 6]
        drafted = text(engine, after, max_tokens=8, drafter="model", draft_length=3)
        assert drafted == reference(model, after, 8)
        assert engine.stats([]).cached_tokens >= len(after) - 4
    assert len(places) >= 3, "the stop fell on too few places of a round"


@pytest.mark.parametrize("drafter", ["none", "model", "auto"])
def test_cancelling_at_any_round_leaves_the_next_turn_right(engine, drafter):
    ids = prompt(9, 1)
    for read in range(4):
        rounds = engine.generate(ids, Options(max_tokens=60, drafter=drafter, draft_length=3))
        kept = [t for _ in range(read) for t in next(rounds).tokens]
        if read % 2:
            rounds.close()
        again = ids + kept + [3, 4]
        wanted = reference(engine.target.model, again, 12)
        assert text(engine, again, max_tokens=12, drafter=drafter, draft_length=3) == wanted
        assert not read or engine.stats([]).cached_tokens >= len(ids)


def test_cancelling_during_prefill_leaves_the_next_turn_right(engine):
    ids = prompt(1500, 1)

    class Enough(Exception):
        pass

    def stop_half_way(done: int, total: int) -> None:
        assert 0 < done <= total == 1499
        if done > 600:
            raise Enough

    with pytest.raises(Enough):
        next(engine.generate(ids, Options(), progress=stop_half_way))
    assert text(engine, ids, max_tokens=5) == reference(engine.target.model, ids, 5)
    assert engine.stats([]).cached_tokens >= 512


def test_a_prompt_too_long_for_the_memory_is_not_read_again_by_the_next_answer(monkeypatch):
    """MLX would compute what it could not, since the rows hang on it."""
    engine = engine_of(tiny_llama(), context_limit=2048)
    wanted = text(engine, prompt(9, 1), max_tokens=4)

    def out_of_memory(*arrays):
        monkeypatch.undo()
        raise RuntimeError("[malloc] Unable to allocate")

    monkeypatch.setattr(mx, "eval", out_of_memory)
    with pytest.raises(RuntimeError):
        text(engine, prompt(500, 2))
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    assert text(engine, prompt(9, 1), max_tokens=4) == wanted
    assert mx.get_peak_memory() - before < 500 * 500 * 4


@pytest.mark.parametrize("in_flight", [0, 1])
def test_an_answer_that_was_overtaken_ends_whether_begun_or_not_and_leaves_the_other_alone(engine, in_flight):
    engine.drafts_in_flight, ids = bool(in_flight), prompt(25, 2)
    wanted = text(engine, ids, max_tokens=30, drafter="none")
    begun = engine.generate(prompt(9, 1), Options(max_tokens=60))
    next(begun)
    overtaken = engine.generate(prompt(30, 1), Options(max_tokens=30))
    rounds = engine.generate(ids, Options(max_tokens=30, drafter="model", draft_length=3))
    written = list(next(rounds).tokens)
    for old in (begun, overtaken):
        with pytest.raises(SpecError, match="later one"):
            next(old)
    assert written + tokens(rounds) == wanted


def test_a_prompt_beyond_the_context_is_refused_before_anything_is_lost(engine):
    ids = prompt(9, 1)
    first = text(engine, ids, max_tokens=5)
    with pytest.raises(ContextFull, match="too long: 3000 tokens > 2048, the model's maximum"):
        engine.generate(prompt(3000, 1), Options())
    with pytest.raises(ContextFull, match="2048 tokens > 2047, the model's maximum context length less one"):
        engine.generate(prompt(2048, 1), Options())
    assert text(engine, ids + first, max_tokens=5) == reference(engine.target.model, ids + first, 5)
    assert engine.stats([]).cached_tokens >= len(ids)


def test_an_empty_prompt_a_missing_drafter_and_impossible_bits_are_refused(engine):
    with pytest.raises(BadOption, match="empty"):
        engine.generate([], Options())
    alone = engine_of(one_layer(0), context_limit=64)
    with pytest.raises(BadOption, match=r"no drafter model in this pair. Use auto, or .* by .: lookup\."):
        alone.generate([1], Options(drafter="model"))
    assert text(alone, [1, 2], max_tokens=5, drafter="auto") == reference(alone.target.model, [1, 2], 5)
    with pytest.raises(UnsupportedModel, match="keys and values of 7 bits.*Leave kv_bits out"):
        engine_of(tiny_llama(0, dim=256), context_limit=100, kv_bits=7)


def test_a_round_waits_for_the_device_once(engine, monkeypatch):
    """Blocking host reads, counted in MLX's functions; timed rounds also wait for their draft."""
    waits: list[str] = []

    def count(owner: object, name: str) -> None:
        honest = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: (waits.append(name), honest(*given))[1])

    for owner, name in ((mx.array, "tolist"), (mx.array, "item"), (mx, "eval")):
        count(owner, name)
    for drafter in DRAFTERS:
        rounds = engine.generate(prompt(9, 1), Options(max_tokens=24, drafter=drafter, draft_length=3))
        next(rounds)
        waits.clear()
        read = list(rounds)
        assert drafter != "model" or any(r.drafted for r in read)
        timed = sum(r.draft_seconds is not None for r in read)
        assert sorted(waits) == ["eval"] * timed + ["tolist"] * len(read)
        assert timed <= 1 + len(read) // 64


def test_an_answer_that_begins_to_draft_late_is_timed_then_and_once_in_64_rounds(engine):
    """Otherwise a short answer would have no `draft_share`."""

    class Late(Fixed):
        def choose(self, candidates, length):
            return super().choose(candidates, length) if length > 8 + 20 else (NO_CANDIDATE, 0)

    engine.controller = Late(1)
    rounds = list(engine.generate(prompt(8, 1), Options(max_tokens=200, drafter="model")))
    timed = [n for n, r in enumerate(rounds) if r.draft_seconds is not None]
    drafted = [n for n, r in enumerate(rounds) if r.drafted]
    assert len(timed) > 1 and timed[0] == drafted[1] > 10
    assert [later - n for n, later in zip(timed, timed[1:], strict=False)] == [64] * (len(timed) - 1)


def test_a_round_is_read_one_round_late(engine, monkeypatch):
    """While the host reads a round, the next one has been submitted: its draft steps, then itself.

    Only the first, which is plain, is read at once: a person waits for it.
    """
    order, submit, read = [], mx.async_eval, Batch.read
    monkeypatch.setattr(
        mx, "async_eval", lambda *a: (order.append("draft" if len(a) == 1 else "round"), submit(*a))[1]
    )
    monkeypatch.setattr(Batch, "read", lambda self: (order.append("read"), read(self))[1])
    list(engine.generate(prompt(9, 1), Options(max_tokens=24, drafter="model", draft_length=2)))
    drafted = ["draft", "draft", "round"]
    assert order[:13] == ["round", "read", *drafted, *drafted, "read", *drafted, "read"]
    order.clear()
    text(engine, prompt(9, 2), max_tokens=24, drafter="none")
    assert order.count("read") == order.count("round") + order.count("draft") == 24, "none is in vain"


@pytest.mark.parametrize("length", [1, 2, 64, 65, 90])
def test_a_short_tail_of_the_prompt_costs_no_pass_of_its_own(engine, length):
    """The first round reads it; only a longer prompt is read, with progress reports, before it."""
    ids, reads = prompt(length, 3), []
    options = Options(max_tokens=12, drafter="model", draft_length=3)
    out = tokens(engine.generate(ids, options, progress=lambda done, total: reads.append(done)))
    assert out == reference(engine.target.model, ids, 12)
    assert bool(reads) == (length > 64)
    later = ids + out + prompt(5, 4)
    reads.clear()
    out = tokens(engine.generate(later, options, progress=lambda done, total: reads.append(done)))
    assert out == reference(engine.target.model, later, 12) and not reads
