"""Grounded copies from stores of documents, and changes no text whatever they hold."""

import pytest

from mlx_spec import Engine, Options
from mlx_spec.arrays import Length
from mlx_spec.drafters.grounded import GroundedDrafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.token_store import TokenStore, arranged
from tests.mlx_spec.grid import grid
from tests.mlx_spec.proposals import draft_after
from tests.mlx_spec.tiny_models import VOCAB, prompt, text, tiny_llama, together, tokens


def drafter_of(*stores: list[list[int]]) -> GroundedDrafter:
    return GroundedDrafter([TokenStore(arranged(documents)) for documents in stores])


def test_what_followed_the_longest_match_of_all_stores_is_drafted_to_the_end_of_its_document():
    drafter = drafter_of([[1, 2, 3, 4, 5, 6, 7], [8, 9]], [[0, 1, 2, 3, 4, 5, 60, 61]])
    drafter.begin([[80, 1, 2, 3, 4, 5]], [[]])
    assert draft_after(drafter, [80, 1, 2, 3, 4, 5], 8) in ([6, 7], [60, 61])
    drafter.begin([[0, 1, 2, 3, 4, 5]], [[]])
    assert draft_after(drafter, [0, 1, 2, 3, 4, 5], 8) == [60, 61]


@pytest.mark.parametrize("ending", [[2, 3, 4, 5], [90, 2, 3, 4, 5], [3, 4, 5, 6, 7], [4, 5, 6, 7, 8]])
def test_it_has_no_candidate_after_a_short_match_at_the_end_of_a_document_or_across_two(ending):
    drafter = drafter_of([[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11]])
    drafter.begin([ending], [[]])
    assert not drafter.candidates(Length.exact(len(ending)))


def test_shadow_results_are_right_token_by_token():
    drafter = drafter_of([[1, 2, 3, 4, 5, 6, 7, 8]])
    drafter.begin([[1, 2, 3, 4]], [[]])
    shadows = drafter.commit([[1, 2, 3, 4, 5, 6, 90, 7]])
    assert [(candidate.kind, right) for _, candidate, right in shadows] == [
        ("grounded 5+", [True]), ("grounded 5+", [False])
    ]  # fmt: skip
    assert drafter.commit([[1, 2, 3, 4, 5, 6, 90, 7]]) == []


TARGET = tiny_llama(0)
IDS = prompt(6, 1)


def stores(kind: str, answer: list[int]) -> list[list[int]]:
    return {
        "right": [prompt(30, 5), IDS + answer],
        "wrong": [[*answer[i : i + 5], *prompt(9, i)] for i in range(25)],
        "another vocabulary": [[*answer[: i + 8], VOCAB + i, 2**31 - 2 - i] for i in range(40)],
    }[kind]


@pytest.mark.parametrize(
    ("kind", "temperature", "length"),
    grid(
        ("right", "wrong", "another vocabulary"),
        (0.0, 0.8),
        (1, 3, 7),
        usual=[
            ("right", 0.0, 3), ("right", 0.8, 7), ("wrong", 0.8, 7), ("another vocabulary", 0.0, 1),
        ],
    ),
)  # fmt: skip
def test_text_is_the_plain_one_whatever_the_store_holds(kind, temperature, length):
    options = {"max_tokens": 30, "temperature": temperature, "seed": 3}
    wanted = text(Engine(TARGET, context_limit=400), IDS, **options)
    engine = Engine(TARGET, [LookupDrafter(), drafter_of(stores(kind, wanted))], context_limit=400)
    for drafter in ("grounded", "auto"):
        rounds = list(engine.generate(IDS, Options(drafter=drafter, draft_length=length, **options)))
        assert tokens(rounds) == wanted
        assert drafter == "auto" or any(r.drafted for r in rounds)
        assert drafter == "auto" or (kind, length) != ("right", 7) or len(rounds) < 12, "the answer is there"


def test_three_texts_copy_each_from_what_it_needs():
    prompts = [prompt(9, 1), prompt(9, 2), prompt(9, 3)]
    plain = Engine(TARGET, context_limit=200)
    wanted = {i: text(plain, ids, max_tokens=40, seed=i) for i, ids in enumerate(prompts)}
    engine = Engine(TARGET, [drafter_of([prompts[i] + wanted[i] for i in (0, 2)])], context_limit=200)
    options = [Options(max_tokens=40, seed=seed, draft_length=5) for seed in range(3)]
    found = together(engine, prompts, options)
    assert [tokens(rounds) for rounds in found] == list(wanted.values())
    accepted = [sum(read.accepted for read in rounds) for rounds in found]
    assert accepted[0] > 20 and accepted[2] > 20
