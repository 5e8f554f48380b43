"""A head on hidden states drafts what it should, whatever was accepted before, and changes no text."""

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import KNOWN, Uneven, drafts, greedy_draft, head_for, target, trained
from tests.mlx_spec.tiny_models import one_layer, prompt, text, tokens

PROMPT = prompt(9, 1)


def engine_with(model, head: EagleHead, kind: type[EagleDrafter] = EagleDrafter, **options) -> Engine:
    return Engine(model, [kind(head)], context_limit=400, **options)


@pytest.fixture(scope="session")
def head() -> EagleHead:
    """It knows some texts of the target."""
    plain = Engine(target(), context_limit=400)
    written = [PROMPT + text(plain, PROMPT, max_tokens=60, temperature=t, seed=2) for t in (0.0, 0.7, 0.9)]
    return trained(written)


def all_right(engine: Engine, head: EagleHead, **options) -> bool:
    found = drafts(engine, PROMPT, "eagle", **options)
    return all(list(drafted) == greedy_draft(head, before, len(drafted)) for before, drafted in found)


@pytest.mark.parametrize("length", [1, 3, 7])
def test_it_drafts_what_whole_passes_without_a_cache_draft_after_any_acceptance(head, length):
    engine = engine_with(target(), head)
    rounds = list(engine.generate(PROMPT, Options(max_tokens=48, drafter="eagle", draft_length=length)))
    assert len({r.accepted for r in rounds}) >= min(length, 3), "acceptances of several kinds"
    assert all_right(engine, head, max_tokens=48, draft_length=length)


class Branching(EagleDrafter):
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
def test_its_trees_change_no_text_and_are_accepted_more_often_than_chains(head, kind, temperature, depth):
    engine, chains = engine_with(target(), head, kind), engine_with(target(), head)
    options = Options(max_tokens=48, temperature=temperature, seed=4, drafter="eagle", draft_length=depth)
    grown = list(engine.generate(PROMPT, options))
    assert tokens(grown) == text(
        engine, PROMPT, max_tokens=48, temperature=temperature, seed=4, drafter="none"
    )
    assert {r.tree_depth for r in grown if r.drafted} <= set(range(1, depth + 1))
    straight = list(chains.generate(PROMPT, options))
    assert len(grown) <= len(straight), "the likeliest chain is in the tree"


@pytest.mark.parametrize("depth", [1, 3])
def test_the_likeliest_branch_of_a_tree_is_the_chain(head, depth):
    engine = engine_with(target(), head, Branching)
    for before, drafted in drafts(engine, PROMPT, "eagle", max_tokens=40, draft_length=depth):
        first = greedy_draft(head, before, 1)
        assert first[0] in drafted
    assert len({len(d) for _, d in drafts(engine, PROMPT, "eagle", max_tokens=40, draft_length=depth)}) <= 2


class LateState(EagleDrafter):
    """Reads what the target made of the token before."""

    def _first(self, context):
        features, self._features = self._features, mx.pad(self._features, [(0, 0), (1, 0), (0, 0)])
        p = super()._first(context)
        self._features = features
        return p


class KeepsItsOwn(EagleDrafter):
    """Never reads again what it drafted."""

    reads_again = False
    left = 1


@pytest.mark.parametrize("broken", [LateState, KeepsItsOwn])
def test_a_head_that_is_fed_wrongly_is_seen(head, broken):
    engine = engine_with(target(), head, broken)
    assert not all_right(engine, head, max_tokens=48, draft_length=3)


@pytest.mark.parametrize(
    ("temperature", "length"), grid((0.0, 0.8), (1, 4, 7), usual=[(0.0, 7), (0.8, 4), (0.8, 1)])
)
def test_the_text_is_that_of_plain_decoding(head, temperature, length):
    engine = engine_with(target(), head)
    options = {"max_tokens": 48, "temperature": temperature, "seed": 2}
    drafted = list(engine.generate(PROMPT, Options(drafter="eagle", draft_length=length, **options)))
    assert tokens(drafted) == text(engine, PROMPT, drafter="none", **options)
    assert any(r.accepted for r in drafted)


@pytest.mark.parametrize("rule", ["token", "block"])
def test_it_drafts_under_the_other_rules_too(head, rule):
    engine = engine_with(target(), head)
    options = Options(max_tokens=40, temperature=0.8, verify=rule, drafter="eagle", draft_length=3)
    assert len(tokens(engine.generate(PROMPT, options))) == 40


def test_a_second_turn_goes_on_with_what_was_read(head):
    engine = engine_with(target(), head)
    first = text(engine, PROMPT, max_tokens=20, drafter="eagle", draft_length=3)
    longer = PROMPT + first[:12] + prompt(7, 3)
    found = drafts(engine, longer, "eagle", max_tokens=30, draft_length=3)
    assert found and all(list(d) == greedy_draft(head, before, len(d)) for before, d in found)


def test_after_rounds_of_others_it_reads_what_it_missed(head):
    engine = engine_with(target(), head)
    engine.controller = Uneven([0, 0, 0, 2, 5, 0, 0, 1, 0, 3])  # type: ignore[assignment]
    assert all_right(engine, head, max_tokens=60)


def test_three_ragged_texts_are_as_single_ones(head):
    engine = engine_with(target(), head)
    prompts = [prompt(9, 1), prompt(20, 2), prompt(4, 3)]
    options = [Options(max_tokens=n, drafter="eagle", draft_length=3, seed=n) for n in (30, 12, 40)]
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for i, read in engine.generate_batch(prompts, options):
        found[i] += read.tokens
    for i, ids in enumerate(prompts):
        assert found[i] == text(
            engine, ids, max_tokens=options[i].max_tokens, drafter="none", seed=options[i].seed
        )


def test_a_trimmed_vocabulary_is_all_it_drafts(head):
    engine = engine_with(target(), head_for(target(), tokens=KNOWN))
    rounds = list(engine.generate(PROMPT, Options(max_tokens=40, drafter="eagle", draft_length=4)))
    assert {t for r in rounds for t in r.drafted} <= set(KNOWN)


def test_rested_it_tells_what_it_would_have_drafted(head):
    """The controller asks for it: `shadow` drafts of the latest tokens."""
    engine = engine_with(target(), head)
    asked = []
    shadow = engine.controller.shadow
    engine.controller.shadow = lambda t, c, right: (
        asked.append((c.drafter, len(right))),
        shadow(t, c, right),
    )  # type: ignore[method-assign]
    text(engine, PROMPT, max_tokens=60, drafter="eagle")
    assert any(name == "eagle" for name, _ in asked)


def test_a_head_of_another_target_is_refused_by_its_sizes():
    args = head_for(target()).shape.args
    with pytest.raises(UnsupportedModel, match="120 tokens and 48 numbers.*has 120 and 32"):
        EagleHead(EagleShape(args, 48, (0,), KNOWN), target())
    with pytest.raises(UnsupportedModel, match="reads layer 1, and the target has 1 layers"):
        engine_with(one_layer(), head_for(one_layer()))
