"""Lookup against a naive search, and what it must not do."""

import random
from collections.abc import Sequence

import mlx.core as mx
import pytest

from mlx_spec import Options
from mlx_spec.arrays import Length
from mlx_spec.drafters import Context
from mlx_spec.drafters.lookup import LookupDrafter, SuffixAutomaton
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier
from tests.mlx_spec.tiny_models import engine_of, prompt, settled, tiny_llama


def longest_ending_seen_before(tokens: list[int]) -> int:
    for size in range(len(tokens) - 1, 0, -1):
        ending = tokens[-size:]
        if any(tokens[i : i + size] == ending for i in range(len(tokens) - size)):
            return size
    return 0


@pytest.mark.parametrize("alphabet", [1, 2, 3, 8])
def test_the_longest_match_is_that_of_a_naive_search(alphabet):
    rng = random.Random(alphabet)
    for _ in range(20):
        tokens: list[int] = []
        automaton = SuffixAutomaton()
        for _ in range(40):
            tokens.append(rng.randrange(alphabet))
            automaton.extend(tokens[-1])
            size, start = automaton.longest_match()
            assert size == longest_ending_seen_before(tokens)
            if size:
                assert start < len(tokens) and tokens[start - size : start] == tokens[-size:]


def copied(
    drafter: LookupDrafter, text: list[int], depth: int, documents: Sequence[list[int]] = ()
) -> list[int]:
    """What it drafts after `text`; nothing where it is no candidate."""
    drafter.begin([text], documents)
    if not drafter.candidates(Length.exact(len(text))):
        return []
    context = Context([text], mx.array([text]), Length.exact(len(text)))
    verifier = BatchVerifier([Verifier(Options(), 100)], context.tokens, context.length, depth)
    drafted: list[list[int]] = drafter.draft(context, depth, verifier).tokens.tolist()  # type: ignore[assignment]
    return drafted[0]


def test_the_latest_occurrence_wins():
    assert copied(LookupDrafter(), [1, 2, 3, 50, 9, 1, 2, 3, 60, 9, 9, 1, 2, 3], 1) == [60]


def test_nothing_is_drafted_where_nothing_matches():
    assert copied(LookupDrafter(), [1, 2, 3, 4, 5, 6, 7, 2, 3], 4) == []


def test_a_repeating_text_is_drafted_past_its_end():
    assert copied(LookupDrafter(), [7, 8, 9, 7, 8, 9, 7, 8, 9], 5) == [7, 8, 9, 7, 8]


def test_documents_are_copied_from_and_never_run_into_each_other():
    documents, drafter = [[1, 2, 3, 4, 5], [6, 7]], LookupDrafter()
    assert copied(drafter, [90, 1, 2, 3], 8, documents) == [4, 5]
    assert copied(drafter, [90, 4, 5, 6], 8, documents) == []


def test_another_conversation_forgets_the_last_one():
    drafter = LookupDrafter()
    assert copied(drafter, [1, 2, 3, 4, 5, 1, 2, 3], 2) == [4, 5]
    assert copied(drafter, [9, 1, 2, 3], 2) == []


def test_copying_is_drafted_by_lookup_even_beside_a_draft_model():
    """A target that repeats its text: `auto` goes over to lookup once the text copies itself."""
    target = settled(tiny_llama(0), 0, spread=0.7)
    engine = engine_of(target, tiny_llama(1), context_limit=2048)
    ids = prompt(6, 1)
    out = [t for r in engine.generate(ids, Options(max_tokens=300)) for t in r.tokens]
    if longest_ending_seen_before(out) < 50:
        pytest.fail("the tiny target does not repeat itself; choose another seed")
    rounds = list(engine.generate(ids, Options(max_tokens=300, drafter="auto", draft_length=4)))
    assert [t for r in rounds for t in r.tokens] == out
    assert engine.stats(rounds).rounds_by_drafter["lookup"] > 10
    assert engine.stats(rounds).acceptance_rate > 0.3


def test_a_document_makes_its_copy_cheap():
    """The answer is known to stand in a document: lookup alone needs far fewer rounds than tokens."""
    target = tiny_llama(0)
    engine = engine_of(target, context_limit=2048)
    ids = prompt(6, 2)
    out = [t for r in engine.generate(ids, Options(max_tokens=80, drafter="none")) for t in r.tokens]
    options = Options(max_tokens=80, drafter="lookup", draft_length=5)
    with_document = list(engine.generate(ids, options, documents=[ids + out]))
    assert [t for r in with_document for t in r.tokens] == out
    assert len(with_document) < 30
