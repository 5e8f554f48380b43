"""Above temperature 0: same seed, same text; and the real loop emits the target's joint distribution."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest

from mlx_spec import Engine, Options
from mlx_spec.arrays import Tree
from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters import Drafter
from mlx_spec.policy.policy import Fixed
from mlx_spec.verify import rules, verifiers
from mlx_spec.verify.distribution import logprobs
from mlx_spec.verify.noise import Gumbel
from tests.mlx_spec.architectures import nearly, tiny_gemma3
from tests.mlx_spec.grid import grid
from tests.mlx_spec.proof_drafters import BINARY, Branching
from tests.mlx_spec.tiny_models import VOCAB as VOCABULARY
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, text, tiny_llama, together, tokens

SAMPLED = {"max_tokens": 20, "temperature": 1.0, "seed": 11}


FILTERS = {"top_k": 40, "top_p": 0.95, "min_p": 0.01, "repetition_penalty": 1.2}


def test_a_penalty_that_looks_back_over_any_text_takes_no_memory_for_more_than_there_is():
    engine = engine_of(tiny_llama(0), tiny_llama(1), context_limit=256)
    asked = {"max_tokens": 8, "draft_length": 3, "repetition_penalty": 1.4}
    whole = text(engine, prompt(12, 3), repetition_context=256, **asked)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    assert text(engine, prompt(12, 3), repetition_context=2**20, **asked) == whole
    assert mx.get_peak_memory() - before < 4 * 2**20


@pytest.mark.parametrize(
    ("make", "filters"),
    grid(
        (tiny_llama, tiny_gemma3),
        ("unfiltered", "filtered"),
        usual=[(tiny_llama, "filtered"), (tiny_gemma3, "unfiltered")],
    ),
)
def test_same_seed_same_text_whatever_drafts_and_how_long(make, filters):
    engine, ids = engine_of(make(0), nearly(make), context_limit=2048), prompt(12, 3)
    extra = FILTERS if filters == "filtered" else {}
    wanted = text(engine, ids, drafter="none", **SAMPLED, **extra)
    for drafter, length in (("model", 1), ("model", 5), ("auto", 3)):
        assert text(engine, ids, drafter=drafter, draft_length=length, **SAMPLED, **extra) == wanted
    assert text(engine, ids, drafter="none", **{**SAMPLED, "seed": 12}, **extra) != wanted


def test_mutant_noise_that_depends_on_the_draft_length_is_caught(monkeypatch):
    engine, ids = engine_of(one_layer(), nearly(one_layer), context_limit=2048), prompt(12, 3)
    wanted = text(engine, ids, drafter="none", **SAMPLED)
    honest = Gumbel.rows
    monkeypatch.setattr(Gumbel, "rows", lambda noise, first, count: honest(noise, first + count, count))
    assert text(engine, ids, drafter="model", draft_length=3, **SAMPLED) != wanted


def test_the_same_seed_repeats_itself_for_token_and_block():
    engine, ids = engine_of(one_layer(), nearly(one_layer), context_limit=2048), prompt(12, 3)
    for rule in ("token", "block"):
        once, again = (
            text(engine, ids, drafter="model", draft_length=3, verify=rule, **{**SAMPLED, "max_tokens": 12})
            for _ in range(2)
        )
        assert once == again


@pytest.mark.parametrize(
    ("rule", "temperature"), [("coupled", 0.8), ("token", 0.8), ("block", 0.8), ("block", 0.0)]
)
def test_a_target_that_drafts_for_itself_is_always_accepted(rule, temperature):
    engine = engine_of(one_layer(), one_layer(), context_limit=2048)
    options = Options(**{**SAMPLED, "temperature": temperature}, verify=rule, drafter="model", draft_length=4)
    assert engine.stats(list(engine.generate(prompt(10, 1), options))).acceptance_rate == 1


@pytest.mark.parametrize("drafter", ["none", "model", "auto"])
def test_an_answer_that_fills_its_context_keeps_its_seeded_text(drafter):
    ids, target, draft = prompt(20, 2), one_layer(), nearly(one_layer)
    wide = text(engine_of(target, draft, context_limit=2048), ids, drafter="none", **SAMPLED)
    tight = engine_of(target, draft, context_limit=40)
    rounds = list(tight.generate(ids, Options(drafter=drafter, draft_length=5, **SAMPLED)))
    assert tokens(rounds) == wide[:20] and rounds[-1].stop == "length"
    assert drafter != "model" or any(r.drafted for r in rounds)


VOCAB, TOKENS = 6, 3
TRIALS = 256
"""Of this many texts, a loop that redraws from p deviates by 12.5 on average (standard deviation 3.6, from
its distribution in 1,500 texts); an honest one by more than 4 once in 700 times."""
PROMPT = [1, 2, 3, 1, 2, 3, 1, 2]
REPEATED = [*(token for each in range(VOCAB) for token in (1, 2, each)), 1, 2]
"""A prompt in which lookup finds the end of itself, whatever token follows."""
FEW = 160
"""Of so many the other mutants here deviate by 17 or more, an honest loop by more than 4 once in 300."""


def joint_distribution(model, ids: list[int], options: Options) -> dict[tuple[int, ...], float]:
    """The distribution of the three tokens after the first one, which is never drafted."""
    texts = list(itertools.product(range(VOCAB), repeat=1 + TOKENS))
    logits = model(mx.array([[*ids, *each] for each in texts]))[:, len(ids) - 1 : -1]
    logs = np.array(logprobs(logits.reshape(-1, VOCAB), options)).reshape(len(texts), -1, VOCAB)
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for each, rows in zip(texts, logs, strict=True):
        found[each[1:]] += float(np.exp(sum(rows[i, x] for i, x in enumerate(each))))
    return found


def chi_square(counts: Counter, wanted: dict[tuple[int, ...], float], trials: int) -> float:
    """How many standard deviations the statistic lies above its mean; rare cells are pooled."""
    cells, rare_seen, rare_expected = [], 0, 0.0
    for each, share in wanted.items():
        if share * trials >= 5:
            cells.append((counts[each], share * trials))
        else:
            rare_seen, rare_expected = rare_seen + counts[each], rare_expected + share * trials
    if rare_expected >= 1:
        cells.append((rare_seen, rare_expected))
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    freedom = len(cells) - 1
    assert freedom >= 10
    return (statistic - freedom) / (2 * freedom) ** 0.5


def few_tokens(seed: int) -> nn.Module:
    return tiny_llama(seed, layers=1, vocab=VOCAB, dim=16)


def deviation(
    rule: str,
    drafter: str,
    trials: int = FEW,
    draft: nn.Module | None = None,
    at_once: int = 16,
    more: Sequence[Drafter] = (),
    ids: list[int] = PROMPT,
    **filters,
) -> float:
    """Texts are written `at_once`: sixteen take a fifth of the time."""
    # Seeds of models so unlike that nearly half of the drafted tokens are replaced.
    target, draft = few_tokens(16), draft or few_tokens(18)
    drafters = [*engine_of(target, draft, context_limit=64).drafters, Branching(draft, BINARY), *more]
    engine = Engine(target, drafters, context_limit=64)
    sampled: dict[str, Any] = {"temperature": 1.5, "verify": rule, "drafter": drafter, "draft_length": 2}
    options = Options(max_tokens=1 + TOKENS, **sampled, **filters)
    counts, drafted = Counter[tuple[int, ...]](), 0
    for first in range(0, trials, at_once):
        seeded = [replace(options, seed=first + i) for i in range(at_once)]
        found = together(engine, [ids] * at_once, seeded)
        counts.update(tuple(tokens(rounds)[1:]) for rounds in found)
        drafted += sum(bool(read.drafted) for rounds in found for read in rounds)
    assert drafted > trials / 10 or drafter == "none"
    return chi_square(counts, joint_distribution(target, ids, options), counts.total())


@pytest.mark.parametrize(
    ("rule", "drafter", "at_once"),
    grid(
        ("coupled", "token", "block"),
        ("model", "lookup", "branching"),
        (1, 16),
        # Token and block take a tree where it has the target's own samples.
        usual=[("token", "model", 16), ("block", "lookup", 16), ("block", "branching", 16)],
    ),
)
def test_the_loop_emits_the_joint_distribution_of_three_tokens(rule, drafter, at_once):
    trials = FEW if drafter == "branching" else TRIALS
    ids = REPEATED if drafter == "lookup" else PROMPT
    assert deviation(rule, drafter, trials, at_once=at_once, ids=ids) < 4


def test_mutant_trees_whose_rows_all_share_their_noise_are_caught(monkeypatch):
    honest = verifiers.RejectionRound.own

    def shared(self, draft, tree, logits):
        return honest(self, draft, Tree(tree.parents, mx.zeros_like(tree.depths), tree.visible), logits)

    monkeypatch.setattr(verifiers.RejectionRound, "own", shared)
    assert deviation("token", "branching") > 6


def test_mutant_loop_that_redraws_from_p_is_caught(monkeypatch):
    monkeypatch.setattr(rules, "bonus_weights", lambda q, p, accepted, weight: p[accepted])
    assert deviation("token", "model", TRIALS) > 6


def with_weight(value: float, model: nn.Module) -> nn.Module:
    """The model with one number of its weights replaced, so that its logits are NaN."""
    model.model.norm.weight[0] = value  # type: ignore[union-attr]
    return model


def test_the_loop_emits_the_joint_distribution_when_the_drafts_logits_are_no_numbers():
    assert deviation("block", "model", draft=with_weight(mx.nan, few_tokens(18))) < 4


def test_mutant_loop_that_verifies_a_draft_that_is_no_number_is_caught(monkeypatch):
    monkeypatch.setattr(rules, "proper", lambda draft, q: mx.zeros(q.shape))
    assert deviation("block", "model", draft=with_weight(mx.nan, few_tokens(18))) > 6


@pytest.mark.parametrize(
    ("value", "broken"),
    grid((mx.nan, mx.inf, -mx.inf), ("draft", "target"), usual=[(mx.nan, "draft"), (-mx.inf, "target")]),
)
def test_ids_stay_in_the_vocabulary_where_weights_are_no_numbers(value, broken):
    """A broken draft changes no text; a broken target's text is that of plain decoding.

    At so low a temperature as the last only the likeliest token can be drawn.
    """
    target, draft = one_layer(), nearly(one_layer)
    engine, ids = engine_of(target, draft, context_limit=400), prompt(12, 3)
    with_weight(value, draft if broken == "draft" else target)
    hot: dict[str, Any] = {"temperature": 0.8, "top_k": 9, "top_p": 0.9, "min_p": 0.02}
    cold = {"temperature": 0.0001}
    for rule, extra in (
        ("coupled", {}), ("coupled", hot), ("token", {}), ("token", hot), ("block", hot), ("block", cold),
    ):  # fmt: skip
        options = {"max_tokens": 6, "verify": rule, **extra}
        rounds = list(engine.generate(ids, Options(drafter="model", draft_length=3, **options)))
        assert all(0 <= t < VOCABULARY for r in rounds for t in (*r.drafted, *r.tokens))
        assert sum(len(r.tokens) for r in rounds) == 6
        if rule == "coupled" or extra is not hot:
            assert tokens(rounds) == text(engine, ids, drafter="none", **options)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["coupled", "token", "block"])
@pytest.mark.parametrize("drafter", ["none", "model", "lookup", "auto"])
@pytest.mark.parametrize(
    "filters", [{}, {"top_k": 4, "top_p": 0.9, "min_p": 0.05}], ids=["plain", "filtered"]
)
def test_the_loop_emits_the_joint_distribution_over_many_runs(rule, drafter, filters):
    assert deviation(rule, drafter, 10_000, at_once=1, ids=REPEATED, **filters) < 4


class AtRandom(Fixed):
    """Random drafter and draft length every round."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        chosen = self.rng.choice([NO_CANDIDATE, *candidates])
        return chosen, self.rng.randint(not chosen.shadows, 8) if chosen.limit else 0


@pytest.mark.parametrize(("temperature", "in_flight"), [(0.0, 1), (1.0, 0), (1.0, 1)])
def test_the_text_is_the_same_whatever_the_planner_does(temperature, in_flight):
    """Drafters, lengths and shadow drafts are random; the prompt repeats itself so that lookup drafts."""
    engine, ids = engine_of(one_layer(), nearly(one_layer), context_limit=2048), prompt(6, 3)
    engine.drafts_in_flight = bool(in_flight)
    options = {**SAMPLED, "temperature": temperature}
    documents = [text(engine, ids, drafter="none", **options)]
    wanted = documents[0]
    drafters: set[str] = set()
    for seed in range(2):
        engine.controller = AtRandom(seed)  # type: ignore[assignment]
        rounds = list(engine.generate(ids, Options(**options), documents=documents))
        assert tokens(rounds) == wanted
        drafters |= {r.drafter for r in rounds}
    assert drafters == {"none", "model", "lookup"}


@pytest.mark.parametrize("rule", ["coupled", pytest.param("token", marks=pytest.mark.slow), "block"])
def test_a_copy_that_ends_in_the_middle_of_a_draft_changes_nothing(rule):
    """The documents hold the answer's first tokens and end: lookup drafts fewer than it was asked for."""
    engine, ids = engine_of(one_layer(), context_limit=2048), prompt(20, 3)
    options = {**SAMPLED, "verify": rule}
    wanted, shorter = text(engine, ids, drafter="none", **options), 0
    for known in range(3, 19, 4):
        document = [*ids[-4:], *wanted[:known]]
        asked = Options(drafter="lookup", draft_length=8, **options)
        rounds = list(engine.generate(ids, asked, documents=[document]))
        shorter += any(0 < len(r.drafted) < 8 for r in rounds[:-1])
        assert len(tokens(rounds)) == len(wanted) and (rule != "coupled" or tokens(rounds) == wanted)
    assert shorter >= 3
