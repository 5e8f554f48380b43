"""Recycling drafts what the target itself found likely, and changes no text."""

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options
from mlx_spec.arrays import Draft, Length, Output, Pass, Tree, Verdict
from mlx_spec.drafters import Context
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter, _place
from mlx_spec.target.model import Model
from tests.mlx_spec.grid import grid
from tests.mlx_spec.proposals import Written, draft_after
from tests.mlx_spec.tiny_models import prompt, ragged, settled, text, tiny_llama, tokens

NOTHING = Output(mx.zeros((1, 0, 0)))
"""Of a pass over a prompt."""


@pytest.mark.parametrize(("length", "temperature"), grid((1, 3, 7), (0.0, 0.3), usual=[(3, 0.0), (7, 0.3)]))
def test_text_is_the_plain_one_and_repeated_tokens_are_drafted(temperature, length):
    target = settled(tiny_llama(0), 0, spread=0.7)
    engine = Engine(target, [RecyclingDrafter()], context_limit=400)
    for seed in (1, 2):  # the second answer begins with the table of the first
        ids = prompt(6, seed)
        options = {"max_tokens": 30, "temperature": temperature, "seed": seed}
        rounds = list(engine.generate(ids, Options(drafter="recycling", draft_length=length, **options)))
        assert tokens(rounds) == text(Engine(target, context_limit=400), ids, **options)
        assert sum(r.accepted for r in rounds) > (2 if temperature else 10)


def test_it_drafts_what_followed_the_last_two_tokens_of_a_prompt_and_else_what_followed_the_last():
    drafter = RecyclingDrafter()
    drafter.attach(Model(tiny_llama(0)))
    a, b, c, d, e, unseen = 3, 4, 5, 6, 7, 8
    read = [a, b, c, d, b, e, a, d]
    drafter.observe(Pass(mx.array([read]), Length.exact(0)), NOTHING, None)

    drafter.begin([read], [[]])
    assert draft_after(drafter, [a, b], 2) == [c, d]
    assert draft_after(drafter, [d, b], 2) == [e, a]
    assert draft_after(drafter, [unseen, b], 2) == [e, a]


def test_what_is_written_to_one_place_in_one_go_is_the_same_everywhere():
    drafter = RecyclingDrafter()
    drafter.attach(Model(tiny_llama(0)))
    drafter._next, drafter._pairs = Written(drafter._next), Written(drafter._pairs)  # type: ignore[assignment]
    drafter.observe(Pass(mx.array([[3, 4, 5, 3, 4, 6], [3, 4, 7, 4, 8, 9]]), Length.exact(0)), NOTHING, None)
    pair = _place(mx.array(3), mx.array(4)).item()
    assert drafter._next.once()[4,] == 8 and drafter._pairs.once()[pair,] == [3, 7]  # type: ignore[attr-defined]


def test_in_a_tree_of_another_drafter_a_token_is_behind_its_parent_and_not_behind_the_one_before_it():
    drafter = RecyclingDrafter()
    drafter.attach(Model(tiny_llama(0)))
    drafter.begin([[3, 3]], [[]])
    draft = Draft(mx.array([[4, 5, 6]]), 2, mx.array([[0, 0, 1]]))
    logits = mx.zeros((1, 4, 20)).at[0, 3, 12].add(1)
    gained = mx.array([[3, 3, 3]])
    p = Pass(mx.array([[3, 4, 5, 6]]), Length.exact(1), draft, Tree.of(draft))
    drafter.observe(p, Output(logits), Verdict(mx.array([0]), gained, gained))
    drafter.observe(Pass(mx.array([[9, 6, 7]]), Length.exact(0)), NOTHING, None)
    assert draft_after(drafter, [4, 6], 1) == [12]
    assert draft_after(drafter, [5, 6], 1) == [7]


def test_without_an_earlier_occurrence_it_has_no_candidate_and_its_shadow_results_are_right():
    drafter = RecyclingDrafter()
    drafter.attach(Model(tiny_llama(0)))
    text, length = [3, 4, 5], Length.exact(3)
    drafter.begin([text], [[]])
    assert not drafter.candidates(length)
    results, candidates = [], []
    for token in (3, 4, 5, 6, 4, 7):  # the host reads a round late: results of 5 come once 3 is known
        text.append(token)
        results += [right for _, _, right in drafter.commit([text])]
        candidates.append(bool(drafter.candidates(length)))
    assert candidates == [True, True, True, False, True, False]
    assert results == [[], [], [True], [False], [False], []]


def test_three_texts_share_the_table_and_are_those_of_single_runs():
    target = settled(tiny_llama(0), 0, spread=0.7)
    ragged(Engine(target, [RecyclingDrafter()], context_limit=200), "recycling")


def test_its_table_is_evaluated_in_rounds_of_others_and_not_left_as_a_graph():
    target = settled(tiny_llama(0), 0, spread=0.7)
    engine = Engine(target, [LookupDrafter(), RecyclingDrafter()], context_limit=2000)
    rounds = engine.generate(prompt(6, 1), Options(max_tokens=60, drafter="auto", draft_length=3))
    memory = [mx.get_active_memory() for read in rounds if read.drafter == "lookup"]
    assert len(memory) > 9 and memory[-1] < memory[3] * 1.01


def test_its_first_draft_after_a_long_rest_reads_the_end_of_the_texts_and_takes_little_memory():
    drafter, count = RecyclingDrafter(), 6000
    drafter.attach(Model(tiny_llama(0)))
    drafter.begin([[3], [3]], [[], []])
    plain = Verdict(mx.array([0, 0]), mx.array([[0], [0]]), mx.array([[3], [3]]))
    drafter.observe(Pass(mx.zeros((2, count), mx.int32), Length.exact(0)), NOTHING, plain)
    texts = mx.array([[3] * (count - 4) + [4, 5, 6, 5]] * 2)
    mx.eval(texts)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    draft = drafter.draft(Context([], texts, Length.exact(count)), 1, None)  # type: ignore[arg-type]
    assert draft.tokens.tolist() == [[6], [6]]
    assert mx.get_peak_memory() - before < 100e6


def test_a_drafter_that_forgot_an_answer_drafts_no_more_of_it_than_the_first_time():
    engine = Engine(settled(tiny_llama(0), 0, spread=0.7), [RecyclingDrafter()], context_limit=200)

    def accepted() -> int:
        options = Options(max_tokens=30, temperature=0.8, drafter="recycling", draft_length=3)
        return sum(each.accepted for each in engine.generate(prompt(6, 1), options))

    first, again = accepted(), accepted()
    engine.drafters[0].forget()
    rewritten = accepted()
    engine.forget()
    assert again > first and rewritten == accepted() == first
