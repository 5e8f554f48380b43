"""Which tokens a draft with a smaller head guesses among."""

from collections.abc import Mapping


def frequent_tokens(vocabulary: Mapping[str, int], added: Mapping[str, int], count: int) -> list[int]:
    """Ids, ascending: the first `count` of the vocabulary, and those that tokenizers add to it.

    Subword tokenizers number their tokens in the order they were merged, the most frequent of their
    training text first (Sennrich et al. 2016, algorithm 1), so no statistics have to be fetched.
    Added ones, the end of an answer among them, come last and are kept.

    Args:
        vocabulary: text to id, as `get_vocab()` gives it.
        added: those that were added to it, as `get_added_vocab()` does.
    """
    return sorted({token for token in vocabulary.values() if token < count} | set(added.values()))
