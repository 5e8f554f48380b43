"""The store of documents against a search of every place; stores that are one token off are caught."""

import random

import numpy as np
import pytest

from mlx_spec.token_store import DEPTH, TokenStore, arranged

Documents = list[list[int]]


def longest_ending_in(documents: Documents, text: list[int]) -> int:
    """Length of the longest match that is followed by a token."""
    for size in range(min(len(text), DEPTH), 0, -1):
        ending = text[-size:]
        if any(d[i : i + size] == ending for d in documents for i in range(len(d) - size)):
            return size
    return 0


def check(store: TokenStore, documents: Documents, text: list[int]) -> None:
    """The match is the longest, and what follows it is what follows in its document."""
    size, place = store.longest_match(text)
    assert size == longest_ending_in(documents, text)
    if size:
        ending, copy = text[-size:], store.following(place, 5)
        ends = [(d, i + size) for d in documents for i in range(len(d)) if d[i : i + size] == ending]
        assert copy and copy in [d[end : end + 5] for d, end in ends]


def some(rng: random.Random, alphabet: int, longest: int) -> list[int]:
    return [rng.randrange(alphabet) for _ in range(rng.randrange(longest))]


def checked_at_random(make, alphabet: int) -> None:
    rng = random.Random(alphabet)
    for _ in range(60):
        documents = [some(rng, alphabet, 30) for _ in range(rng.randrange(5))]
        store = TokenStore(make(documents))
        for _ in range(5):
            check(store, documents, some(rng, alphabet + 1, 25))


@pytest.mark.parametrize("alphabet", [1, 2, 3, 8, 2**31 - 2])
def test_the_longest_match_is_that_of_a_search_of_every_place(alphabet):
    checked_at_random(arranged, alphabet)


def no_borders(documents: Documents) -> np.ndarray:
    return arranged([[token for document in documents for token in document]])


def one_place_off(documents: Documents) -> np.ndarray:
    array = arranged(documents)
    array[1] += 1
    return array


@pytest.mark.parametrize("broken", [no_borders, one_place_off])
def test_a_store_that_is_wrong_is_noticed(broken):
    with pytest.raises(AssertionError):
        checked_at_random(broken, 3)


def test_the_last_of_several_whole_matches_is_copied():
    same = list(range(DEPTH))
    store = TokenStore(arranged([[*same, 50], [9, *same, 60], [7, 7, 7]]))
    size, place = store.longest_match(same)
    assert (size, store.following(place, 3)) == (DEPTH, [60])


def test_a_store_whose_numbers_are_nonsense_is_searched_all_the_same():
    rng = np.random.default_rng(0)
    store = TokenStore(rng.integers(0, 2**32, (2, 50), dtype=np.uint32))
    for text in ([], [1], list(range(40))):
        size, place = store.longest_match(text)
        assert 0 <= size <= DEPTH and len(store.following(place, 5)) <= 5


def test_a_copy_ends_at_a_number_that_no_token_has():
    """As a flipped bit leaves it: as a drafted token it would not fit into 32 bits with a sign."""
    array = arranged([[1, 2, 3, 4]])
    array[0].view(">u4")[1] += 2**31
    store = TokenStore(array)
    assert store.following(store.longest_match([1, 2])[1], 5) == [3]
