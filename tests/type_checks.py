"""While the tests run, every function of the engine is checked against its annotations.

Shapes are jaxtyping's to check. Its wrapper binds and remembers the arguments of every call, which costs
more than most of the engine's functions do: those without a shape are checked by beartype alone.
"""

import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any, get_type_hints

import jaxtyping
from beartype import beartype

_with_shapes = jaxtyping.jaxtyped


def install() -> None:
    """Check what is imported of `mlx_spec` from now on."""
    # The decorator that jaxtyping's import hook writes above every function and class.
    jaxtyping.jaxtyped = _checked
    jaxtyping.install_import_hook("mlx_spec", "beartype.beartype")


def _checked(*, typechecker: Callable) -> Callable:
    def check(item: Any) -> Any:
        if isinstance(item, type):
            if dataclasses.is_dataclass(item):
                item.__init__ = check(item.__init__)  # type: ignore[method-assign]
            return item
        if not isinstance(item, FunctionType) or _needs_jaxtyping(hints := _hints(item)):
            return _with_shapes(item, typechecker=typechecker)
        item.__annotations__ = hints
        return beartype(item)

    return check


def _needs_jaxtyping(hints: dict[str, Any]) -> bool:
    """Whether there is a shape, or a recursive type, at which beartype alone fails."""
    return any("jaxtyping." in repr(hint) or "ForwardRef" in repr(hint) for hint in hints.values())


def _hints(function: FunctionType) -> dict[str, Any]:
    """Annotations with their names looked up, without those that only a type checker can look up."""
    hints = {}
    for name, hint in function.__annotations__.items():
        one = type(function.__name__, (), {"__annotations__": {name: hint}})
        try:
            hints |= get_type_hints(one, function.__globals__, include_extras=True)
        except NameError:
            continue
    return hints
