"""Whether values read from JSON have the types that a dataclass says its fields have."""

import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

LARGEST = 2**63
"""Numbers beyond this are none of ours, and some cannot be shown or divided."""


def wrong_field(kind: type, values: Mapping[str, Any]) -> str | None:
    """The name of the first value that has not the type of the dataclass's field; None if all have."""
    hints = get_type_hints(kind)
    return next((name for name in values if name in hints and not has_type(values[name], hints[name])), None)


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value is what a type says: number, text, list (for a tuple) or dict of them, a union."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is types.UnionType:
        return any(has_type(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple | list) and all(has_type(one, inner[0]) for one in value)
    if origin is dict:
        of_name, of_value = inner
        return isinstance(value, dict) and all(
            has_type(name, of_name) and has_type(one, of_value) for name, one in value.items()
        )
    if hint in (int, float):
        kinds = int if hint is int else int | float
        return isinstance(value, kinds) and not isinstance(value, bool) and -LARGEST < value < LARGEST
    return isinstance(value, hint)
