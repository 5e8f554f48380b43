"""Texts that join and leave between rounds: each is the text of a run alone, whatever the others do."""

import gc
import random
import time
import weakref
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec import Engine, Options
from mlx_spec import rows as rows_module
from mlx_spec.batch import Batch
from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters.layer_skip import LayerSkipDrafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from mlx_spec.policy.policy import Policy
from mlx_spec.target.cache import Buffer
from mlx_spec.target.model import Model
from mlx_spec.target.view import View
from mlx_spec.text import Text
from tests.mlx_spec.architectures import ARCHITECTURES, nearly, quantizable
from tests.mlx_spec.grid import grid
from tests.mlx_spec.model_types import build
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, settled, text, tiny_llama, tokens

SHARED = prompt(70, 5)
"""Prefix of most prompts."""
LEAVES = {0: 3, 5: 0}
"""The first of eight requests is cancelled when it has three tokens, the sixth before it has any."""


@pytest.fixture(autouse=True)
def a_piece_between_two_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read prompts in such small pieces that short ones too are read between rounds."""
    monkeypatch.setattr(rows_module, "WAIT", 1e-4)


def asked(seed: int, count: int, **options) -> list[tuple[list[int], Options]]:
    """Prompts of 1 to 150 tokens, answers of 1 to 24; greedy and sampled, some with penalties or stops."""
    rng, requests = random.Random(seed), []
    for i in range(count):
        ids = SHARED[: rng.choice((0, 40, 70, 70))] + prompt(rng.choice((1, 5, 30, 80)), 100 * seed + i)
        requests.append(
            (
                ids,
                Options(
                    max_tokens=rng.choice((1, 6, 13, 24)),
                    temperature=rng.choice((0.0, 0.8)),
                    seed=i,
                    top_k=rng.choice((0, 0, 20)),
                    repetition_penalty=rng.choice((1.0, 1.0, 1.3)),
                    stop_tokens=frozenset(rng.choice(((), (7, 30, 55, 81)))),
                    **options,
                ),
            )
        )
    return requests


def alone(engine: Engine, requests: list[tuple[list[int], Options]]) -> list[list[int]]:
    return [tokens(engine.generate(ids, options)) for ids, options in requests]


def played(engine: Engine, requests: list[tuple[list[int], Options]], most: int, seed: int):
    """(texts, which were cancelled): requests come a few at a time, some are cancelled at once or later."""
    rng, rows, coming = random.Random(seed), engine.rows(most), list(requests)
    given: list[Text] = []
    texts, cancelled, drafted = defaultdict[int, list[int]](list), set[int](), False
    while coming or rows.busy:
        for _ in range(rng.choice((0, 0, 1, 3)) if rows.busy else 1):
            if coming:
                given.append(rows.add(*coming.pop(0), streamed=len(given) % 3 > 0))
        for one, read in rows.step():
            assert one.number not in cancelled, "a cancelled text gains nothing"
            texts[one.number] += read.tokens
            drafted |= bool(read.drafted)
        for i, one in enumerate(given):
            if not one.ended and len(texts[one.number]) >= LEAVES.get(i % 8, 99):
                cancelled.add(one.number)
                rows.cancel(one)
    assert drafted or not any(options.draft_length for _, options in requests), "nothing was drafted"
    return [texts[one.number] for one in given], [one.number in cancelled for one in given]


@cache
def plain(make, seed: int, count: int, kv_bits: int | None = None) -> list[list[int]]:
    """What a new engine writes without drafts, one text after another."""
    return alone(Engine(make(0), context_limit=512, kv_bits=kv_bits), asked(seed, count, drafter="none"))


def is_right(engine: Engine, requests, wanted: list[list[int]], most: int = 4, seed: int = 1) -> bool:
    texts, cancelled = played(engine, requests, most, seed)
    assert not all(cancelled)
    pairs = zip(texts, wanted, cancelled, strict=True)
    return all(own == right[: len(own)] if cut else own == right for own, right, cut in pairs)


def pair(make=one_layer, **options) -> Engine:
    return engine_of(make(0), nearly(make, noise=0.1), context_limit=512, **options)


def repeating(seed: int) -> nn.Module:
    """Its texts repeat themselves."""
    return settled(tiny_llama(seed), seed, spread=0.7)


def on_the_target() -> Engine:
    target = tiny_llama(0)
    drafters = [LayerSkipDrafter(target, [0]), RecyclingDrafter(), LookupDrafter()]
    return Engine(target, drafters, context_limit=512)


def read_at_once() -> Engine:
    engine = pair()
    engine.drafts_in_flight = False
    return engine


TARGETS = {on_the_target: tiny_llama, read_at_once: one_layer}


@pytest.mark.parametrize(
    ("make", "drafter", "length", "most"),
    [
        (tiny_llama, "none", None, 16), (tiny_llama, "model", 3, 3), (repeating, "lookup", 4, 16),
        (tiny_llama, "auto", None, 3), (quantizable, "model", 3, 4), (on_the_target, "layer_skip", 2, 4),
        (on_the_target, "recycling", 2, 4), (read_at_once, "auto", 3, 4),
    ],
)  # fmt: skip
def test_texts_that_join_and_leave_are_those_of_single_runs(make, drafter, length, most):
    target, kv_bits = TARGETS.get(make, make), 8 if make is quantizable else None
    engine = make() if make in TARGETS else pair(make, kv_bits=kv_bits)
    requests = asked(1, 12, drafter=drafter, draft_length=length)
    assert is_right(engine, requests, plain(target, 1, 12, kv_bits), most)


@pytest.mark.parametrize("name", grid(ARCHITECTURES, usual=[("llama_sliding",), ("gemma4_shared",)]))
def test_texts_that_join_and_leave_are_those_of_single_runs_with_windows_and_shared_layers(name):
    make, requests = ARCHITECTURES[name], asked(2, 5, drafter="model", draft_length=2)
    assert is_right(pair(make), requests, plain(make, 2, 5), seed=2)


def free_places_keep_nothing(self, places, kept, *rest, honest=Batch.__init__):
    honest(self, places, [0] * len(kept), *rest)


def moves_no_rows(self, order, honest=Buffer.rearrange):
    honest(self, [min(i, self.arrays[0].shape[0] - 1) for i in range(len(order))] if self.arrays else order)


def one_mask_for_all(self, count, first, last, window):
    return mx.arange(first, last) <= (mx.array(self.at.value)[:1, None] + mx.arange(count))[:, :, None]


def all_grow_alike(self, draft, verdict, honest=Batch.append):
    same = mx.broadcast_to(verdict.accepted[:1], verdict.accepted.shape)
    object.__setattr__(verdict, "accepted", same)
    return honest(self, draft, verdict)


def shares_what_differs(self, tokens, sequence, honest=Model.common):
    found = honest(self, tokens, sequence)
    return min(self.seen[sequence], len(tokens)) if found > 40 else found


def unbroken() -> tuple[Engine, list[tuple[list[int], Options]], list[list[int]]]:
    """An engine, requests, and the texts that it writes unless it is broken."""
    return pair(), asked(6, 8, drafter="model", draft_length=3), plain(one_layer, 6, 8)


@pytest.mark.parametrize(
    ("owner", "name", "mutant"),
    [
        (Batch, "__init__", free_places_keep_nothing),
        (Buffer, "rearrange", moves_no_rows),
        (View, "_chain_mask", one_mask_for_all),
        (Batch, "append", all_grow_alike),
        (Model, "common", shares_what_differs),
    ],
)
def test_broken_batches_are_caught(monkeypatch, owner, name, mutant):
    engine, requests, wanted = unbroken()
    monkeypatch.setattr(owner, name, mutant)
    texts, cancelled = played(engine, requests, 4, 1)
    pairs = zip(texts, wanted, cancelled, strict=True)
    assert not all(own == right[: len(own)] if cut else own == right for own, right, cut in pairs)


def test_a_cancelled_text_frees_its_place_within_a_round():
    engine = engine_of(one_layer(), context_limit=512)
    rows = engine.rows(2)
    first, second, third = (rows.add(prompt(9, i), Options(max_tokens=40)) for i in range(3))
    while not second.rounds:
        rows.step()
    assert not third.rounds
    rows.cancel(first)
    before = 0, 0
    while not third.rounds:
        before = len(first.rounds), len(second.rounds)
        rows.step()
    assert len(first.rounds) == before[0] and len(second.rounds) <= before[1] + 2


def test_a_text_that_is_cancelled_before_it_began_is_never_read_and_nothing_of_it_is_kept():
    class Report:
        def __call__(self, done: int, total: int) -> None: ...

    rows = engine_of(one_layer(), context_limit=512).rows(1)
    first, report = rows.add(prompt(9, 0), Options(max_tokens=4)), Report()
    kept = weakref.ref(report)
    rows.cancel(rows.add(prompt(9, 1), Options(), progress=report))
    del report
    read = [one for _ in range(20) if rows.busy for one, _ in rows.step()]
    assert len(first.tokens) == 13 and set(map(id, read)) == {id(first)}
    gc.collect()
    assert kept() is None


def test_a_common_prefix_of_prompts_is_read_once(monkeypatch):
    engine, honest, read = engine_of(one_layer(), nearly(one_layer), context_limit=1024), Model.read, []

    def counted(self, stop, *args, **more):
        read.append((self, stop - self.seen[args[1] if len(args) > 1 else more.get("sequence", 0)]))
        return honest(self, stop, *args, **more)

    monkeypatch.setattr(Model, "read", counted)
    common = prompt(300, 9)
    prompts = [common + prompt(10, i) for i in range(8)]
    each = [Options(max_tokens=8, drafter="model", draft_length=2)] * 8
    texts = defaultdict[int, list[int]](list)
    rows = engine.rows()
    first = rows.add(prompts[0], each[0])
    while not first.rounds:
        for one, gained in rows.step():
            texts[one.number] += gained.tokens
    others = [rows.add(ids, options) for ids, options in zip(prompts[1:], each[1:], strict=True)]
    while rows.busy:
        for one, gained in rows.step():
            texts[one.number] += gained.tokens
    assert sum(count for model, count in read if model is engine.target) < 300 + 8 * 12
    assert sum(count for model, count in read if model is not engine.target) < 300 + 8 * 12 + 200
    assert all(one.cached_tokens >= 300 for one in others)
    wanted = [text(engine, ids, max_tokens=8, drafter="none") for ids in prompts]
    assert [texts[one.number] for one in (first, *others)] == wanted


@pytest.mark.parametrize("kind", ["qwen3_5", "gemma2", "gpt_bigcode"])
def test_a_target_that_cannot_read_several_texts_writes_one_after_another(kind):
    engine = Engine(build(kind), context_limit=512)
    assert engine.rows().most == 1
    requests = asked(7, 3, drafter="none")
    assert is_right(engine, requests, alone(engine, requests))


class Told(Policy):
    """Notes for which texts of the batch copies were offered."""

    def __init__(self) -> None:
        self.live: list[int] = []
        self.places: set[int] = set()

    def begin(self, texts: Collection[int]) -> None:
        self.live = list(texts)

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        self.places |= {self.live.index(text) for each in candidates for text in each.texts or ()}
        return NO_CANDIDATE, 0


def test_a_policy_knows_which_texts_have_a_copy():
    engine, told = engine_of(one_layer(), context_limit=200), Told()
    engine.controller = told  # type: ignore[assignment]
    options = Options(max_tokens=40, drafter="lookup")
    for _ in range(3):  # numbers of later texts are no places
        list(engine.generate_batch([prompt(9, 1), prompt(9, 2)], [options] * 2))
    assert told.places


def test_the_wait_for_a_place_is_no_part_of_the_time_to_the_first_token() -> None:
    rows = engine_of(tiny_llama(), context_limit=64).rows(most=1)
    first, second = (rows.add(prompt(20, seed), Options(max_tokens=8)) for seed in (1, 2))
    asked, begun = second.asked, 0.0
    while not first.ended:
        begun = time.perf_counter()
        rows.step()
    assert asked < begun < second.asked
