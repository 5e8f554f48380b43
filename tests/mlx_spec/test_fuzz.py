"""Chats of random turns, cancels, stops, options and drafters, each turn against a fresh plain engine.

Slow: run by `make slow`.
"""

import random
from dataclasses import replace
from itertools import islice

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options
from mlx_spec.drafters.lookahead import LookaheadDrafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from tests.mlx_spec.architectures import ARCHITECTURES, nearly
from tests.mlx_spec.tiny_models import VOCAB, engine_of, tokens

CHATS, TURNS = 12, 14


def random_options(rng: random.Random) -> Options:
    return Options(
        max_tokens=rng.choice([1, 2, 5, 17, 40]),
        temperature=rng.choice([0.0, 0.0, 0.7, 1.2]),
        top_p=rng.choice([1.0, 0.9]),
        top_k=rng.choice([0, 1, 20, VOCAB, 2**40]),
        min_p=rng.choice([0.0, 0.05, 1.0]),
        repetition_penalty=rng.choice([1.0, 1.0, 1.3, 0.5, 10.0]),
        repetition_context=rng.choice([1, 3, 20, 64, 3000]),
        seed=rng.randrange(2**64),
        draft_length=rng.choice([0, 1, 2, 3, 5, 8, 16, 31]),
        drafter=rng.choice(["model", "lookup", "recycling", "lookahead", "auto", "none"]),
        stop_tokens=frozenset(rng.sample(range(VOCAB), rng.choice([0, 1, 4]))),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("seed", range(CHATS))
def test_any_chat_gives_the_text_of_a_fresh_plain_engine(name, seed):
    rng = random.Random(f"{name} {seed}")
    limit = rng.choice([300, 2048])
    target = ARCHITECTURES[name](seed)
    draft = nearly(ARCHITECTURES[name], seed, noise=rng.choice([0.0, 0.02, 0.5]))
    drafters = [LookupDrafter(), RecyclingDrafter(), LookaheadDrafter(), ModelDrafter(draft)]
    engine = Engine(target, drafters, context_limit=limit)
    engine.drafts_in_flight = rng.choice([False, True])
    written: list[int] = [rng.randrange(VOCAB)]
    for turn in range(TURNS):
        if rng.random() < 0.2:
            written = written[: rng.randint(1, len(written))]
        written = written + [rng.randrange(VOCAB) for _ in range(rng.choice([0, 1, 3, 30]))]
        if len(written) >= limit:
            break
        options = random_options(rng)
        documents = [written[-20:]] if rng.random() < 0.3 else []
        fresh = engine_of(target, context_limit=limit)
        wanted = tokens(fresh.generate(written, replace(options, drafter="none")))
        read = rng.choice([1, 2, 5, 10**6])
        kept = tokens(islice(engine.generate(written, options, documents=documents), read))
        assert kept == (wanted if read > 5 else wanted[: len(kept)]), (turn, options)
        written = written + kept
    mx.clear_cache()
