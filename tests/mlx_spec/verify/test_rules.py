"""Every rule emits exactly the target's distribution, whatever the draft: enumerated, with mutants that fail.

The enumeration drives the rules' own deterministic parts (`proper`, limits, bonus weights) over all drafts
and outcomes of a tiny vocabulary; that the rules decide by them is shown over many draws of their noise.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.verify import rules

VOCAB = 3
ROUNDING = 1e-6

Tree = dict[tuple[int, ...], np.ndarray]
"""The distribution of the next token after every prefix."""
Texts = dict[tuple[int, ...], float]
"""The probability of every text."""


class Scheme(NamedTuple):
    """A rule, its limits, and the probability of each number of accepted tokens."""

    rule: Callable
    limits: Callable
    chances: Callable[[np.ndarray], np.ndarray]


def one_by_one(limits: np.ndarray) -> np.ndarray:
    """Each token is accepted only if all before it are."""
    reached = np.cumprod(np.pad(limits, [(0, 0), (1, 0)], constant_values=1), axis=1)
    return reached * (1 - np.pad(limits, [(0, 0), (0, 1)]))


def longest_first(limits: np.ndarray) -> np.ndarray:
    """The longest candidate prefix wins."""
    refused = np.pad(1 - limits, [(0, 0), (0, 1)], constant_values=1)
    none_longer = np.cumprod(refused[:, ::-1], axis=1)[:, ::-1]
    return none_longer * np.pad(limits, [(0, 0), (1, 0)], constant_values=1)


def token_limits(draft: mx.array, q: mx.array, p: mx.array) -> tuple[mx.array, mx.array]:
    return rules.token_limits(draft, q, p), mx.ones(draft.shape[0] + 1)


TOKEN = Scheme(rules.token, token_limits, one_by_one)
BLOCK = Scheme(rules.block, rules.block_limits, longest_first)
both = pytest.mark.parametrize("scheme", [TOKEN, BLOCK], ids=["token", "block"])


def random_tree(seed: int, depth: int) -> Tree:
    rng = np.random.default_rng(seed)
    prefixes = (x for n in range(depth + 1) for x in itertools.product(range(VOCAB), repeat=n))
    return {x: rng.dirichlet(np.ones(VOCAB)).astype(np.float32) for x in prefixes}


def guess(seed: int, depth: int) -> Tree:
    """All of the probability on one token after each prefix."""
    best = {prefix: row.argmax() for prefix, row in random_tree(seed, depth).items()}
    return {prefix: np.eye(VOCAB, dtype=np.float32)[x] for prefix, x in best.items()}


def texts(tree: Tree, length: int) -> Texts:
    return {
        text: float(np.prod([tree[text[:i]][x] for i, x in enumerate(text)], dtype=np.float64))
        for text in itertools.product(range(VOCAB), repeat=length)
    }


def rows(tree: Tree, draft: tuple[int, ...], count: int) -> np.ndarray:
    """NaN after ids out of range: the target reads out of bounds there."""
    return np.stack([tree.get(draft[:i], np.full(VOCAB, np.nan, np.float32)) for i in range(count)])


def emitted(
    p: Tree,
    q: Tree,
    k: int,
    scheme: Scheme,
    drafts: Texts | None = None,
    proper: Callable = rules.proper,
    bonus: Callable = rules.bonus_weights,
) -> Texts:
    """The distribution of the tokens that one round emits; drafts are drawn from q if not given."""
    drafts = {draft: share for draft, share in (drafts or texts(q, k)).items() if share > 0}
    ids = mx.array(list(drafts), mx.int32)
    q_rows = mx.array(np.stack([rows(q, draft, k) for draft in drafts]))
    p_rows = mx.array(np.stack([rows(p, draft, k + 1) for draft in drafts]))
    q_rows = mx.vmap(proper)(ids, q_rows)
    limits, weights = mx.vmap(scheme.limits)(ids, q_rows, p_rows)
    chances = scheme.chances(np.nan_to_num(np.array(limits, np.float64)))  # no number is below NaN
    found: Texts = defaultdict(float)
    for n in range(k + 1):
        accepted = mx.full(len(drafts), n, mx.int32)
        tails = np.array(mx.vmap(bonus)(q_rows, p_rows, accepted, weights[:, n]), np.float64)
        for (draft, share), chance, tail in zip(drafts.items(), chances[:, n], tails, strict=True):
            for x in range(VOCAB) if chance > 0 else ():
                found[(*draft[:n], x)] += share * chance * tail[x] / tail.sum()
    return found


def distance(found: Texts, p: Tree, length: int) -> float:
    """Total variation to the target's texts of `length` tokens; missing tokens are drawn from the target."""
    whole: Texts = defaultdict(float)
    for prefix, chance in found.items():
        for rest in itertools.product(range(VOCAB), repeat=length - len(prefix)):
            text = prefix + rest
            whole[text] += chance * float(np.prod([p[text[:i]][text[i]] for i in range(len(prefix), length)]))
    wanted = texts(p, length)
    assert set(whole) <= set(wanted)
    return 0.5 * sum(abs(whole[text] - wanted[text]) for text in wanted)


def mean_accepted(found: Texts) -> float:
    return sum((len(text) - 1) * chance for text, chance in found.items())


@both
@pytest.mark.parametrize("k", [1, 3])
def test_rejection_rules_emit_the_target_distribution(scheme, k):
    """Random drafts and fixed ones; also targets that forbid a token."""
    for seed in range(2):
        p = random_tree(seed, k)
        kept = {prefix: np.where(row < row.max(), row, 0) for prefix, row in p.items()}
        forbidding = {prefix: row / row.sum() for prefix, row in kept.items()}
        for q in (random_tree(seed + 100, k), guess(seed, k), p):
            assert distance(emitted(p, q, k, scheme), p, k + 1) < ROUNDING
            assert distance(emitted(forbidding, q, k, scheme), forbidding, k + 1) < ROUNDING


def test_block_verification_accepts_at_least_what_token_verification_does():
    pairs = [(random_tree(seed, 3), random_tree(seed + 50, 3)) for seed in range(6)]
    means = [[mean_accepted(emitted(*pair, 3, scheme)) for scheme in (TOKEN, BLOCK)] for pair in pairs]
    gains = [by_block - by_token for by_token, by_block in means]
    assert min(gains) > -ROUNDING and max(gains) > 0.01


def test_block_verification_reproduces_the_example_of_its_paper():
    """p = (1/3, 2/3), q = (2/3, 1/3), two drafted: 10/9 accepted by token, 11/9 by block."""
    p = {prefix: np.array([1 / 3, 2 / 3, 0], np.float32) for prefix in random_tree(0, 2)}
    q = {prefix: np.array([2 / 3, 1 / 3, 0], np.float32) for prefix in p}
    for scheme, wanted in ((TOKEN, 10 / 9), (BLOCK, 11 / 9)):
        assert mean_accepted(emitted(p, q, 2, scheme)) == pytest.approx(wanted, abs=1e-5)


BROKEN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nan": lambda row: row * np.nan,
    "one nan": lambda row: np.where(np.arange(VOCAB) == 0, np.nan, row),
    "infinite": lambda row: row + np.inf,
    "minus infinite": lambda row: row - np.inf,
    "zeros": lambda row: row * 0,
    "surely another token": lambda row: np.roll(row, 1),
    "negative": lambda row: row * 2 - np.roll(row, 1),
    "sum of 2": lambda row: row * 2,
}
"""Broken rows of q, made of sound ones. Their tokens are not drawn from q, but fixed by those before."""


def broken_drafts(p: Tree, k: int, kind: str, scheme: Scheme, **parts: Callable) -> float:
    """The worst distance over every set of broken rows; the sound rows draw from a q of their own."""
    worst = 0.0
    for bad in itertools.product([False, True], repeat=k):
        for seed in range(2):
            sound, elsewhere = random_tree(seed + 20, k), guess(seed + 40, k)
            source = {x: (elsewhere if bad[len(x)] else sound)[x] for x in sound if len(x) < k}
            q = {x: BROKEN[kind](row) if bad[len(x)] else row for x, row in source.items()}
            found = emitted(p, q, k, scheme, drafts=texts(source, k), **parts)
            worst = max(worst, distance(found, p, k + 1))
    return worst


@both
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_draft_changes_no_distribution(scheme, kind):
    assert broken_drafts(random_tree(3, 2), 2, kind, scheme) < ROUNDING


@both
@pytest.mark.parametrize("unknown", [-1, VOCAB, 2**31 - 1])
def test_a_drafted_id_out_of_range_is_never_accepted(scheme, unknown):
    """The target's rows after it are NaN; neither those nor the id change what is emitted."""
    p = random_tree(4, 3)
    for place in range(3):
        draft = tuple(unknown if i == place else i for i in range(3))
        for row in (np.full(VOCAB, np.nan, np.float32), np.full(VOCAB, 1 / VOCAB, np.float32)):
            q = {draft[:i]: row if i == place else np.eye(VOCAB, dtype=np.float32)[i] for i in range(3)}
            found = emitted(p, q, 3, scheme, drafts={draft: 1.0})
            assert distance(found, p, 4) < ROUNDING


def raw(draft: mx.array, q: mx.array) -> mx.array:
    return q


def even(draft: mx.array, q: mx.array) -> mx.array:
    return mx.where(mx.isnan(q).any(axis=-1, keepdims=True), 1 / VOCAB, q)


@both
@pytest.mark.parametrize(
    ("kind", "proper"),
    [("zeros", raw), ("surely another token", raw), ("negative", raw), ("sum of 2", raw), ("nan", even)],
)
def test_mutant_that_verifies_with_an_unusable_q_is_caught(scheme, kind, proper):
    assert broken_drafts(random_tree(3, 2), 2, kind, scheme, proper=proper) > 0.05


def test_mutant_block_limits_that_accept_what_is_not_a_number_are_caught():
    def trusting(draft: mx.array, q: mx.array, p: mx.array) -> tuple[mx.array, mx.array]:
        limits, joint = rules.block_limits(draft, q, p)
        return mx.concatenate([mx.where(mx.isnan(limits[:-1]), 1, limits[:-1]), limits[-1:]]), joint

    assert broken_drafts(random_tree(3, 2), 2, "nan", BLOCK._replace(limits=trusting), proper=raw) > 0.05


# Mutants seen in public code: each must fail the enumeration that the rules pass.


def test_mutant_q_that_is_not_what_was_drawn_from_is_caught():
    """A greedy draft verified by its softmax; q taken at another temperature."""
    p, q = random_tree(1, 2), random_tree(2, 2)
    greedy = {prefix: np.eye(VOCAB)[row.argmax()] for prefix, row in q.items()}
    hot = {prefix: (row**0.5 / (row**0.5).sum()).astype(np.float32) for prefix, row in q.items()}
    assert distance(emitted(p, q, 2, TOKEN, drafts=texts(greedy, 2)), p, 3) > 0.05
    assert distance(emitted(p, hot, 2, TOKEN, drafts=texts(q, 2)), p, 3) > 0.01


def test_mutant_discarding_unlikely_drawn_tokens_is_caught():
    """A drawn token of low probability is discarded, and the target's own taken in its place."""
    p, q = random_tree(3, 1), random_tree(4, 1)
    least = int(q[()].argmin())

    def discarding(draft: mx.array, q: mx.array, p: mx.array) -> tuple[mx.array, mx.array]:
        limits, _ = token_limits(draft, q, p)
        # So great a weight makes the bonus a draw from p, whatever q says.
        weights = mx.where(draft[0] == least, mx.array([1e9, 1]), mx.ones(2))
        return mx.where(draft == least, 0, limits), weights

    assert distance(emitted(p, q, 1, TOKEN._replace(limits=discarding)), p, 2) > 0.02


@both
def test_mutant_redrawing_from_p_after_a_rejection_is_caught(scheme):
    p, q = random_tree(7, 2), random_tree(8, 2)
    assert distance(emitted(p, q, 2, scheme, bonus=lambda q, p, n, w: p[n]), p, 3) > 0.02


@both
@pytest.mark.parametrize("broken", [-1, 0, 1], ids=["none", "first", "second"])
def test_decisions_follow_the_limits_that_were_enumerated(scheme, broken):
    """The rules that the loop calls agree with the enumerated parts, over many draws of their noise."""
    k, trials, draft = 2, 4000, (0, 1)
    ids, p = mx.array(draft, mx.int32), mx.array(rows(random_tree(11, k), draft, k + 1))
    sound = rows(random_tree(12, k), draft, k)
    q = mx.array(np.where(np.arange(k)[:, None] == broken, np.nan, sound), mx.float32)
    uniform = mx.random.uniform(shape=(trials, k), key=mx.random.key(1))
    gumbel = mx.random.gumbel((trials, VOCAB), key=mx.random.key(2))
    accepted, tokens = map(np.array, mx.vmap(lambda u, g: scheme.rule(ids, q, p, u, g))(uniform, gumbel))
    q = rules.proper(ids, q)
    limits, weights = scheme.limits(ids, q, p)
    chances = scheme.chances(np.array(limits)[None])[0]
    assert np.abs(np.bincount(accepted, minlength=k + 1) / trials - chances).max() < 4 * 0.5 / trials**0.5
    for n in range(k + 1):
        gained = tokens[accepted == n]
        assert (gained[:, :n] == draft[:n]).all()
        drawn = np.bincount(gained[:, n], minlength=VOCAB)
        wanted = np.array(rules.bonus_weights(q, p, mx.array(n, mx.int32), weights[n]))
        if drawn.sum() > 200:
            assert np.abs(drawn / drawn.sum() - wanted / wanted.sum()).max() < 4 * 0.5 / drawn.sum() ** 0.5


@pytest.mark.parametrize("rule", [rules.token, rules.block])
def test_an_empty_draft_leaves_the_targets_own_token(rule):
    p, nothing = mx.array([[0.2, 0.5, 0.3]]), mx.zeros((0,))
    accepted, tokens = rule(nothing.astype(mx.int32), mx.zeros((0, 3)), p, nothing, mx.zeros(3))
    assert (accepted.item(), tokens.tolist()) == (0, [1])


def test_coupled_emits_the_plain_text_of_its_noise_for_every_draft():
    """Whatever the draft, the tokens kept are those that plain decoding draws with the same noise."""
    k, p = 2, random_tree(13, 2)
    for seed in range(20):
        gumbel = np.array(mx.random.gumbel((k + 1, VOCAB), key=mx.random.key(seed)))
        plain: tuple[int, ...] = ()
        for i in range(k + 1):
            plain = (*plain, int((np.log(p[plain]) + gumbel[i]).argmax()))
        for draft in itertools.product(range(-1, VOCAB + 1), repeat=k):
            logs = mx.log(mx.array(rows(p, draft, k + 1)))
            n, tokens = rules.coupled(mx.array(draft, mx.int32), logs + mx.array(gumbel))
            accepted = int(np.array(n))
            kept = tuple(np.array(tokens)[: accepted + 1].tolist())
            assert kept == plain[: len(kept)] and kept[:accepted] == draft[:accepted]
            assert accepted == next((i for i in range(k) if draft[i] != plain[i]), k)
