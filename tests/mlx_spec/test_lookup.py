"""Lookup against a naive search, and what it must not do."""

import random

import pytest

from mlx_spec import Options
from mlx_spec.arrays import Length
from mlx_spec.drafters.lookup import LONGEST, MIN_MATCH, TRIED, Copier, LookupDrafter
from tests.mlx_spec.proposals import draft_after
from tests.mlx_spec.tiny_models import engine_of, prompt, settled, text, tiny_llama, tokens


def longest_ending_seen_before(tokens: list[int]) -> tuple[int, int]:
    """(size, the place after its latest occurrence before)."""
    for size in range(len(tokens) - 1, 0, -1):
        for place in range(len(tokens) - 1, size - 1, -1):
            if tokens[place - size : place] == tokens[-size:]:
                return size, place
    return 0, 0


@pytest.mark.parametrize("alphabet", [1, 2, 3, 8])
def test_the_longest_match_is_the_latest_of_a_naive_search(alphabet):
    rng = random.Random(alphabet)
    for _ in range(20):
        tokens: list[int] = []
        copier = Copier(())
        for _ in range(min(LONGEST, TRIED)):
            tokens.append(rng.randrange(alphabet))
            copier.extend(tokens[-1])
            found = longest_ending_seen_before(tokens)
            assert copier.longest_match() == (found if found[0] >= MIN_MATCH else (0, 0))


def test_no_match_is_compared_further_than_one_that_predicts_as_well_nor_more_than_the_latest_are_tried():
    same = Copier(())
    for token in [1] * 400:
        same.extend(token)
    assert same.longest_match() == (LONGEST, 399)
    often = Copier(())
    for token in [9, 1, 2, 3, 4, *[8, 1, 2, 3, 5] * TRIED, 9, 1, 2, 3]:
        often.extend(token)
    assert often.longest_match() == (MIN_MATCH, len(often.tokens) - 5), "four tokens match further back"


def copied(drafter: LookupDrafter, text: list[int], depth: int, documents=()) -> list[int]:
    drafter.begin([text], [documents])
    return draft_after(drafter, text, depth)


@pytest.mark.parametrize(
    ("tokens", "drafted"),
    [
        ([1, 2, 3, 50, 9, 1, 2, 3, 60, 9, 9, 1, 2, 3], [60, 9, 9]),
        ([1, 2, 3, 4, 5, 6, 7, 2, 3], []),
        ([7, 8, 9, 7, 8, 9, 7, 8, 9], [7, 8, 9]),
    ],
    ids=["the latest of two", "too short a match", "past its own end"],
)
def test_the_continuation_of_the_latest_match_is_drafted(tokens, drafted):
    assert copied(LookupDrafter(), tokens, 3) == drafted


def test_documents_are_copied_from_and_never_run_into_each_other():
    documents, drafter = [[1, 2, 3, 4, 5], [6, 7]], LookupDrafter()
    assert copied(drafter, [90, 1, 2, 3], 8, documents) == [4, 5]
    assert copied(drafter, [90, 4, 5, 6], 8, documents) == []


def test_of_several_texts_each_kind_of_match_names_those_with_as_long_a_one():
    texts, drafter = [[*range(20)] * 2, [*range(6)] * 2, [1, 2, 3], []], LookupDrafter()
    drafter.begin(texts, [[]] * 4)
    found = {each.kind: each.texts for each in drafter.candidates(Length.exact(40))}
    assert found == {"lookup 16+": (0,), "lookup 5+": (0, 1)}
    drafter.begin(texts[:1], [[]])
    assert [(each.kind, each.texts) for each in drafter.candidates(Length.exact(40))] == [
        ("lookup 16+", None)
    ]


def test_another_conversation_forgets_the_last_one():
    drafter = LookupDrafter()
    assert copied(drafter, [1, 2, 3, 4, 5, 1, 2, 3], 2) == [4, 5]
    assert copied(drafter, [9, 1, 2, 3], 2) == []


def test_copying_is_drafted_by_lookup_even_beside_a_draft_model():
    """A target that repeats its text: `auto` switches to lookup once the text copies itself."""
    target = settled(tiny_llama(0), 0, spread=0.7)
    engine = engine_of(target, tiny_llama(1), context_limit=2048)
    ids = prompt(6, 1)
    out = text(engine, ids, max_tokens=120)
    assert longest_ending_seen_before(out)[0] > 50, "the target does not repeat itself; choose another seed"
    rounds = list(engine.generate(ids, Options(max_tokens=120, drafter="auto", draft_length=4)))
    assert tokens(rounds) == out
    stats = engine.stats(rounds)
    assert stats.rounds_by_drafter["lookup"] > 10 and stats.acceptance_rate > 0.3


def test_a_document_makes_its_copy_cheap():
    """The answer is in a document: lookup alone needs far fewer rounds than tokens."""
    engine, ids = engine_of(tiny_llama(0), context_limit=2048), prompt(6, 2)
    out = text(engine, ids, max_tokens=60, drafter="none")
    options = Options(max_tokens=60, drafter="lookup", draft_length=5)
    rounds = list(engine.generate(ids, options, documents=[ids + out]))
    assert tokens(rounds) == out and len(rounds) < 22


def test_a_prompt_is_indexed_without_trying_to_predict_each_token(monkeypatch):
    """All other texts wait meanwhile."""
    monkeypatch.setattr(Copier, "copy", lambda copier, length: pytest.fail("it copied"))
    LookupDrafter().begin([[1, 2, 3] * 8], [[]])


@pytest.mark.parametrize("calls", [5, 45], ids=["while the prompt is read", "between two rounds"])
def test_what_was_interrupted_while_it_was_indexed_is_indexed_again(calls, monkeypatch):
    target, ids, left = settled(tiny_llama(0), 0, spread=0.7), prompt(40, 1), [calls]
    options = Options(max_tokens=40, draft_length=3)
    wanted = [read.drafted for read in engine_of(target, context_limit=400).generate(ids, options)]
    engine = engine_of(target, context_limit=400)

    def stopped(copier, token, whole=Copier.extend):
        left[0] -= 1
        if left[0]:
            return whole(copier, token)
        copier.tokens.append(token)  # the last of its steps, without the others
        raise KeyboardInterrupt

    monkeypatch.setattr(Copier, "extend", stopped)
    with pytest.raises(KeyboardInterrupt):
        list(engine.generate(ids, options))
    assert [read.drafted for read in engine.generate(ids, options)] == wanted
