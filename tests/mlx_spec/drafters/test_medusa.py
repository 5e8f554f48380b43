"""Medusa heads draft what they should, whatever was accepted before, and change no text."""

from copy import copy
from itertools import combinations, product
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.medusa import RIGHT, MedusaDrafter, shape
from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape, final_norm, medusa_taps
from mlx_spec.target.model import Model
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import KNOWN, Uneven, drafts
from tests.mlx_spec.medusa_heads import HEADS, head_for, ranked, target, trained
from tests.mlx_spec.tiny_models import ARCHITECTURES, one_layer, prompt, text, tokens

PROMPT = prompt(9, 1)


def engine_with(head: MedusaHead, kind: type[MedusaDrafter] = MedusaDrafter) -> Engine:
    return Engine(target(), [kind(head)], context_limit=400)


@pytest.fixture(scope="session")
def head() -> MedusaHead:
    """It knows some texts of the target."""
    plain = Engine(target(), context_limit=400)
    written = [PROMPT + text(plain, PROMPT, max_tokens=60, temperature=t, seed=2) for t in (0.0, 0.7, 0.9)]
    return trained(written)


def all_right(engine: Engine, head: MedusaHead, ids: list[int] = PROMPT, **options) -> bool:
    """Whether each token of each draft is the best guess of its head."""
    found = drafts(engine, ids, "medusa", **options)
    assert len(found) > 3
    return all(
        [rank[0] for rank in ranked(head, before)][: len(drafted)] == list(drafted)
        for before, drafted in found
    )


def accepted(engine: Engine, **options) -> float:
    """Tokens a round."""
    rounds = list(engine.generate(PROMPT, Options(max_tokens=60, drafter="medusa", **options)))
    return sum(len(r.tokens) for r in rounds) / len(rounds)


@pytest.mark.parametrize("length", [1, 2, 4, 9])
def test_it_drafts_what_the_equations_say_after_any_acceptance(head, length):
    engine = engine_with(head)
    rounds = list(engine.generate(PROMPT, Options(max_tokens=48, drafter="medusa", draft_length=length)))
    assert len({r.accepted for r in rounds}) >= min(length, 3), "acceptances of several kinds"
    assert max(len(r.drafted) for r in rounds) == min(length, HEADS)
    assert all_right(engine, head, max_tokens=48, draft_length=length)


@pytest.mark.parametrize("shared", [True, False])
def test_heads_may_share_their_output_rows_or_not(shared):
    head = head_for(target(), shared=shared)
    assert all_right(engine_with(head), head, max_tokens=20, draft_length=4)


class LateState(MedusaDrafter):
    """Reads what the target made of the token before, or of the first row."""

    def observe(self, p, output, verdict):
        late = {layer: mx.pad(x, [(0, 0), (1, 0), (0, 0)])[:, :-1] for layer, x in output.hidden.items()}
        super().observe(p, type(output)(output.logits, late), verdict)


class StaleState(MedusaDrafter):
    """Reads the text's last token, whatever was accepted after it."""

    def observe(self, p, output, verdict):
        if verdict is not None:
            verdict = type(verdict)(mx.zeros_like(verdict.accepted), verdict.path, verdict.tokens)
        super().observe(p, output, verdict)


class LateHeads(MedusaDrafter):
    """Each place is guessed by the head of the place before."""

    def __init__(self, head):
        late = copy(head)
        late.heads = [head.heads[i] for i in (0, 0, 1, 2)]
        super().__init__(late)


def test_trained_heads_are_often_right_and_wrongly_fed_ones_are_not(head):
    honest = accepted(engine_with(head), draft_length=4)
    assert honest > 2.0
    for broken in (LateState, StaleState, LateHeads):
        assert accepted(engine_with(head, broken), draft_length=4) < 0.8 * honest, broken
        assert not all_right(engine_with(head, broken), head, max_tokens=48, draft_length=3), broken


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("length", [1, 4])
def test_the_text_is_that_of_plain_decoding(head, temperature, length):
    engine = engine_with(head)
    options = {"max_tokens": 48, "temperature": temperature, "seed": 2}
    drafted = list(engine.generate(PROMPT, Options(drafter="medusa", draft_length=length, **options)))
    assert tokens(drafted) == text(engine, PROMPT, drafter="none", **options)
    assert any(r.accepted for r in drafted) and any(r.accepted < len(r.drafted) for r in drafted)


class Branching(MedusaDrafter):
    """Trees only."""

    size = 7

    def candidates(self, length):
        return [c for c in super().candidates(length) if c.nodes == self.size]


class Wide(Branching):
    size = 15


@pytest.mark.parametrize(
    ("kind", "temperature", "depth"),
    grid(
        (Branching, Wide),
        (0.0, 0.8),
        (1, 2, 4),
        usual=[(Branching, 0.0, 4), (Branching, 0.8, 2), (Wide, 0.0, 2), (Wide, 0.8, 4), (Wide, 0.0, 1)],
    ),
)
def test_its_trees_change_no_text_and_save_rounds(head, kind, temperature, depth):
    engine = engine_with(head, kind)
    options = {"max_tokens": 48, "temperature": temperature, "seed": 4}
    grown = list(engine.generate(PROMPT, Options(drafter="medusa", draft_length=depth, **options)))
    assert tokens(grown) == text(engine, PROMPT, drafter="none", **options)
    assert {r.tree_depth for r in grown if r.drafted} <= set(range(1, depth + 1))
    short = Options(drafter="medusa", draft_length=1, **options)
    assert len(grown) < len(list(engine_with(head).generate(PROMPT, short)))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_each_node_of_a_tree_is_the_guess_of_its_head_and_rank(head, depth):
    found = drafts(engine_with(head, Branching), PROMPT, "medusa", max_tokens=40, draft_length=depth)
    assert len(found) > 3
    for before, drafted in found[:-1]:  # the last one is cut to what is still wanted
        guesses, nodes = ranked(head, before), shape(7, depth)
        assert list(drafted) == [guesses[level][rank] for _, level, rank in nodes]


@pytest.mark.parametrize(("nodes", "depth"), [(3, 2), (4, 3), (5, 1)])
def test_a_tree_has_the_likeliest_nodes_of_all_trees_of_its_size(nodes, depth):
    """Against every set of nodes that hang together; a path is the ranks that lead to a node."""

    def likely(path: tuple[int, ...]) -> float:
        return float(np.prod([RIGHT[level][rank] for level, rank in enumerate(path)]))

    some = range(3 if depth > 1 else 5)
    paths = [path for count in range(1, depth + 1) for path in product(some, repeat=count)]
    whole = (c for c in combinations(paths, nodes) if all(p[:-1] in c for p in c if len(p) > 1))
    made: list[tuple[int, ...]] = [()]
    for on, level, rank in shape(nodes, depth):
        assert len(made[on]) == level, "it hangs on a node of the head before"
        made.append((*made[on], rank))
    assert sum(map(likely, made[1:])) == pytest.approx(max(sum(map(likely, c)) for c in whole))


@pytest.mark.parametrize("kind", [MedusaDrafter, Branching])
@pytest.mark.parametrize("rule", ["token", "block"])
def test_it_drafts_under_the_other_rules_too(head, rule, kind):
    engine = engine_with(head, kind)
    options = Options(max_tokens=40, temperature=0.8, verify=rule, drafter="medusa", draft_length=3)
    assert len(tokens(engine.generate(PROMPT, options))) == 40


def test_a_second_turn_goes_on_with_what_was_read(head):
    engine = engine_with(head)
    first = text(engine, PROMPT, max_tokens=20, drafter="medusa", draft_length=3)
    for longer in (PROMPT + first[:12] + prompt(7, 3), PROMPT, PROMPT[:5]):
        assert all_right(engine, head, longer, max_tokens=20, draft_length=3)


def test_after_rounds_of_others_it_drafts_from_where_the_text_is(head):
    engine = engine_with(head)
    engine.controller = Uneven([0, 0, 0, 2, 4, 0, 1, 0, 3])  # type: ignore[assignment]
    assert all_right(engine, head, max_tokens=60)


@pytest.mark.parametrize("kind", [MedusaDrafter, Branching])
def test_three_ragged_texts_are_as_single_ones(head, kind):
    engine = engine_with(head, kind)
    prompts = [prompt(9, 1), prompt(20, 2), prompt(4, 3)]
    options = [
        Options(max_tokens=n, drafter="medusa", draft_length=3, seed=n, temperature=t)
        for n, t in ((30, 0.0), (12, 0.8), (40, 0.8))
    ]
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for i, read in engine.generate_batch(prompts, options):
        found[i] += read.tokens
    for i, (ids, each) in enumerate(zip(prompts, options, strict=True)):
        alone = {"max_tokens": each.max_tokens, "temperature": each.temperature, "seed": each.seed}
        assert found[i] == text(engine, ids, drafter="none", **alone)


def test_a_trimmed_vocabulary_is_all_it_drafts():
    head = head_for(target(), tokens=KNOWN)
    rounds = list(
        engine_with(head).generate(PROMPT, Options(max_tokens=40, drafter="medusa", draft_length=4))
    )
    assert {t for r in rounds for t in r.drafted} <= set(KNOWN)
    assert all_right(engine_with(head), head, max_tokens=40, draft_length=4)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_heads_read_is_what_the_targets_own_output_rows_read(name):
    model: Any = ARCHITECTURES[name](0)
    ids = mx.array([prompt(12, 1)])
    wanted = model.model(ids)
    [layer] = medusa_taps(model)
    state = Model(model, taps=[layer]).forward(Pass(ids, Length.exact(0))).hidden[layer]
    assert mx.allclose(final_norm(model)(state), wanted, atol=1e-5)


def test_heads_of_another_target_are_refused_by_name():
    with pytest.raises(UnsupportedModel, match="120 tokens and 48 numbers.*has 120 and 32"):
        MedusaHead(MedusaShape(4, 1, 48, 120, KNOWN), target())
    with pytest.raises(UnsupportedModel, match="99 tokens and 32 numbers.*has 120 and 32"):
        MedusaHead(MedusaShape(4, 1, 32, 99, KNOWN), target())
    model: Any = one_layer()
    model.model.other_norm = model.model.norm
    with pytest.raises(UnsupportedModel, match="llama has 2 layers that could be its last norm"):
        medusa_taps(model)  # before anything is read for a training
