"""Every rule emits exactly the target's law: enumerated on a tiny vocabulary, with mutants that do not.

The enumeration drives the rules' own deterministic parts (acceptance limits, bonus weights) over all
drafts and outcomes (methods: reference enumeration with the real functions in place of fractions).
"""

import itertools
from collections import defaultdict
from collections.abc import Callable

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.verify import rules as verify

VOCAB = 3
ROUNDING = 2e-6
"""float32 sums of at most a few hundred products."""

Laws = dict[tuple[int, ...], np.ndarray]
Law = dict[tuple[int, ...], float]


def random_laws(seed: int, length: int, sharpness: float = 1.0) -> Laws:
    """A law for every prefix of up to `length` tokens."""
    rng = np.random.default_rng(seed)
    prefixes = [p for n in range(length + 1) for p in itertools.product(range(VOCAB), repeat=n)]
    laws = {p: rng.dirichlet(np.full(VOCAB, sharpness)).astype(np.float32) for p in prefixes}
    return {p: law / law.sum() for p, law in laws.items()}


def rows(laws: Laws, draft: tuple[int, ...], count: int) -> mx.array:
    return mx.array(np.stack([laws[draft[:i]] for i in range(count)]))


def token_chances(limits: np.ndarray) -> list[float]:
    """Chance of each number accepted, when each token stands only if all before it do."""
    chances, alive = [], 1.0
    for limit in limits:
        chances.append(alive * (1 - limit))
        alive *= limit
    return [*chances, alive]


def block_chances(limits: np.ndarray) -> list[float]:
    """Chance of each number accepted, when the longest candidate prefix wins."""
    chances, none_longer = [0.0] * (len(limits) + 1), 1.0
    for i in range(len(limits), 0, -1):
        chances[i] = none_longer * limits[i - 1]
        none_longer *= 1 - limits[i - 1]
    chances[0] = none_longer
    return chances


def token_parts(draft: mx.array, q: mx.array, p: mx.array):
    limits = verify.token_limits(draft, q, p)
    return token_chances(np.array(limits)), mx.ones((len(draft) + 1,))


def block_parts(draft: mx.array, q: mx.array, p: mx.array):
    limits, joint = verify.block_limits(draft, q, p)
    return block_chances(np.array(limits)), joint


def emitted(
    p: Laws,
    q: Laws,
    k: int,
    parts: Callable,
    drawn_from: Laws | None = None,
    bonus: Callable = verify.bonus_weights,
) -> Law:
    """The law of the tokens one round emits."""
    law: Law = defaultdict(float)
    for draft in itertools.product(range(VOCAB), repeat=k):
        source = drawn_from or q
        drawn = float(np.prod([source[draft[:i]][x] for i, x in enumerate(draft)]))
        if drawn == 0:
            continue
        ids, q_rows, p_rows = mx.array(draft, mx.int32), rows(q, draft, k), rows(p, draft, k + 1)
        chances, weights = parts(ids, q_rows, p_rows)
        for n, chance in enumerate(chances):
            tail = np.array(bonus(q_rows, p_rows, mx.array(n, mx.int32), weights[n]), np.float64)
            for x, share in enumerate(tail / tail.sum()):
                law[(*draft[:n], x)] += drawn * chance * share
    return law


def distance(law: Law, p: Laws, length: int) -> float:
    """Total variation to the target's law over `length` tokens, the rest drawn from the target."""
    whole: Law = defaultdict(float)
    for prefix, chance in law.items():
        for rest in itertools.product(range(VOCAB), repeat=length - len(prefix)):
            text = prefix + rest
            tail = float(np.prod([p[text[:i]][text[i]] for i in range(len(prefix), length)]))
            whole[text] += chance * tail
    wanted = {
        text: float(np.prod([p[text[:i]][x] for i, x in enumerate(text)]))
        for text in itertools.product(range(VOCAB), repeat=length)
    }
    return 0.5 * sum(abs(whole[text] - wanted[text]) for text in wanted)


@pytest.mark.parametrize("parts", [token_parts, block_parts])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_rejection_rules_emit_the_target_law(parts, k):
    for seed in range(4):
        p, q = random_laws(seed, k), random_laws(seed + 100, k)
        assert distance(emitted(p, q, k, parts), p, k + 1) < ROUNDING


@pytest.mark.parametrize("parts", [token_parts, block_parts])
def test_rejection_rules_emit_the_target_law_for_drafts_without_a_law(parts):
    """A copied draft is a point mass."""
    k = 2
    p = random_laws(1, k)
    for guess in range(VOCAB):
        q = {prefix: np.eye(VOCAB, dtype=np.float32)[guess] for prefix in p}
        assert distance(emitted(p, q, k, parts), p, k + 1) < ROUNDING


@pytest.mark.parametrize("parts", [token_parts, block_parts])
def test_rejection_rules_emit_the_target_law_where_the_target_forbids_tokens(parts):
    k = 2
    q = random_laws(7, k)
    p = {prefix: np.where(np.arange(VOCAB) == len(prefix) % VOCAB, 0, law) for prefix, law in q.items()}
    p = {prefix: (law / law.sum()).astype(np.float32) for prefix, law in p.items()}
    assert distance(emitted(p, q, k, parts), p, k + 1) < ROUNDING


def test_block_verification_accepts_at_least_what_token_verification_does():
    gains = []
    for seed in range(6):
        k = 3
        p, q = random_laws(seed, k), random_laws(seed + 50, k)
        mean = {}
        for name, parts in (("token", token_parts), ("block", block_parts)):
            mean[name] = sum((len(text) - 1) * chance for text, chance in emitted(p, q, k, parts).items())
        gains.append(mean["block"] - mean["token"])
    assert min(gains) > -ROUNDING and max(gains) > 0.01


def test_block_verification_reproduces_the_example_of_its_paper():
    """p = (1/3, 2/3), q = (2/3, 1/3), two drafted: 10/9 accepted by token, 11/9 by block."""
    p = {prefix: np.array([1 / 3, 2 / 3, 0], np.float32) for prefix in random_laws(0, 2)}
    q = {prefix: np.array([2 / 3, 1 / 3, 0], np.float32) for prefix in p}
    for parts, wanted in ((token_parts, 10 / 9), (block_parts, 11 / 9)):
        mean = sum((len(text) - 1) * chance for text, chance in emitted(p, q, 2, parts).items())
        assert mean == pytest.approx(wanted, abs=1e-5)


# The five mutants seen in public code: each must fail the enumeration that the rules pass.


def test_mutant_greedy_draft_judged_by_its_softmax_is_caught():
    p, q = random_laws(1, 2), random_laws(2, 2)
    greedy = {prefix: np.eye(VOCAB, dtype=np.float32)[law.argmax()] for prefix, law in q.items()}
    assert distance(emitted(p, q, 2, token_parts, drawn_from=greedy), p, 3) > 0.05


def test_mutant_discarding_unlikely_drawn_tokens_is_caught():
    """A token drawn with little confidence is thrown away and the target speaks in its place."""
    p, q = random_laws(3, 1), random_laws(4, 1)
    kept = q[()] >= np.sort(q[()])[1]
    law: Law = defaultdict(float)
    for text, chance in emitted(p, q, 1, _conditioned(kept)).items():
        law[text] += chance
    assert distance(law, p, 2) > 0.02


def _conditioned(kept: np.ndarray) -> Callable:
    def parts(draft: mx.array, q: mx.array, p: mx.array):
        if kept[np.array(draft)[0]]:
            return token_parts(draft, q, p)
        return [1.0, 0.0], mx.array([1e9, 1.0])  # nothing drafted: a draw from p, whatever q says

    return parts


def test_mutant_q_taken_at_another_temperature_is_caught():
    p, q = random_laws(5, 2), random_laws(6, 2)
    hot = {prefix: (law**0.5 / (law**0.5).sum()).astype(np.float32) for prefix, law in q.items()}
    assert distance(emitted(p, hot, 2, token_parts, drawn_from=q), p, 3) > 0.01


@pytest.mark.parametrize("parts", [token_parts, block_parts])
def test_mutant_redrawing_from_p_after_a_rejection_is_caught(parts):
    p, q = random_laws(7, 2), random_laws(8, 2)
    assert distance(emitted(p, q, 2, parts, bonus=lambda q, p, n, w: p[n]), p, 3) > 0.02


def test_mutant_keeping_the_longest_of_two_beams_is_caught():
    p, q = random_laws(9, 1), random_laws(10, 1)
    law: Law = defaultdict(float)
    residual = np.maximum(p[()] - q[()], 0)
    residual /= residual.sum()
    stand = np.minimum(p[()] / q[()], 1)
    for a, b in itertools.product(range(VOCAB), repeat=2):
        drawn = q[()][a] * q[()][b]
        law[(a,)] += drawn * stand[a]
        law[(b,)] += drawn * (1 - stand[a]) * stand[b]
        for x in range(VOCAB):
            law[(x,)] += drawn * (1 - stand[a]) * (1 - stand[b]) * residual[x]
    assert distance(law, p, 1) > 0.02


@pytest.mark.parametrize("rule", [verify.token, verify.block])
def test_decisions_follow_the_limits_that_were_enumerated(rule):
    """What the loop calls agrees with what the enumeration drove, over many draws of its noise."""
    k, counts, trials = 2, np.zeros(3), 4000
    p, q = random_laws(11, k), random_laws(12, k)
    draft = (0, 1)
    ids, q_rows, p_rows = mx.array(draft, mx.int32), rows(q, draft, k), rows(p, draft, k + 1)
    uniform = mx.random.uniform(shape=(trials, k), key=mx.random.key(1))
    gumbel = mx.random.gumbel((trials, VOCAB), key=mx.random.key(2))
    accepted, bonus = mx.vmap(lambda u, g: rule(ids, q_rows, p_rows, u, g))(uniform, gumbel)
    counts = np.bincount(np.array(accepted), minlength=3) / trials
    chances, weights = (token_parts if rule is verify.token else block_parts)(ids, q_rows, p_rows)
    assert np.abs(counts - chances).max() < 4 * 0.5 / trials**0.5
    for n in range(k + 1):
        drawn = np.bincount(np.array(bonus)[np.array(accepted) == n], minlength=VOCAB)
        law = np.array(verify.bonus_weights(q_rows, p_rows, mx.array(n, mx.int32), weights[n]))
        if drawn.sum() > 200:
            assert np.abs(drawn / drawn.sum() - law / law.sum()).max() < 4 * 0.5 / drawn.sum() ** 0.5


def test_coupled_emits_the_plain_text_of_its_noise_for_every_draft():
    """Whatever the draft, the tokens kept are those that plain decoding draws with the same noise."""
    k = 2
    p = random_laws(13, k)
    for seed in range(20):
        gumbel = np.array(mx.random.gumbel((k + 1, VOCAB), key=mx.random.key(seed)))
        plain: tuple[int, ...] = ()
        for i in range(k + 1):
            plain = (*plain, int((np.log(p[plain]) + gumbel[i]).argmax()))
        for draft in itertools.product(range(VOCAB), repeat=k):
            logs = mx.log(rows(p, draft, k + 1))
            n, bonus = verify.coupled(mx.array(draft, mx.int32), logs, mx.array(gumbel))
            accepted = int(np.array(n))
            kept = (*draft[:accepted], int(np.array(bonus)))
            assert kept == plain[: len(kept)]
            assert accepted == next((i for i in range(k) if draft[i] != plain[i]), k)


def test_coupled_noise_draws_from_the_law():
    """Gumbel-max: the plain text of coupled noise follows p; noise keyed by neighbouring positions too."""
    from mlx_spec.verify.noise import gumbel_rows, streams

    p = np.array([0.5, 0.3, 0.15, 0.05])
    draws = []
    for seed in range(4):
        noise = gumbel_rows(streams(seed)[0], 0, 3000, 4)
        draws.append(np.array(mx.argmax(mx.log(mx.array(p)) + noise, axis=-1)))
    joined = np.concatenate(draws)
    counts = np.bincount(joined, minlength=4)
    expected = p * joined.size
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # chi-square, 3 df, p = 0.001
    pairs = np.bincount(joined[:-1] * 4 + joined[1:], minlength=16).reshape(4, 4)
    expected = np.outer(p, p) * (joined.size - 1)
    assert ((pairs - expected) ** 2 / expected).sum() < 37.7  # 15 df
