"""Token ids as callers give them, checked: Python ints from here on. Knows no arrays."""

import operator
from collections.abc import Iterable
from reprlib import repr as short

from mlx_spec.errors import BadOption


def whole(value: object) -> int:
    """An int, or an integer of NumPy's or MLX's, as an int.

    Raises:
        TypeError: a fraction, NaN, text, true or false.
    """
    if isinstance(value, bool):
        raise TypeError("true and false are no numbers")
    return operator.index(value)  # type: ignore[arg-type]


def token_ids(ids: Iterable[object], name: str, vocab: int | None = None) -> list[int]:
    """`ids` as ints, each below `vocab` where it is given: MLX checks no bounds and reads what lies there.

    Raises:
        BadOption: they are no list, or one is no whole number, negative or none of the vocabulary's; the
            message names `name`.
    """
    value: object = None
    found: list[int] = []
    try:
        each = iter(ids)
    except TypeError:
        raise BadOption(
            f"Token ids are given as a list, and {name} is {short(ids)}. Give what the tokenizer returns."
        ) from None
    try:
        for value in each:
            found.append(value if type(value) is int else whole(value))
    except TypeError:
        raise BadOption(
            f"Token ids are whole numbers, and {name} holds {short(value)}. Give what the tokenizer returns."
        ) from None
    for value in (min(found), max(found)) if found else ():
        if value < 0 or (vocab is not None and value >= vocab):
            why = "ids begin at 0" if value < 0 else f"the vocabulary has {vocab}"
            raise BadOption(
                f"There is no token {value}, which {name} holds: {why}. Use the tokenizer of this model."
            )
    return found
