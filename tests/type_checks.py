"""While the tests run, every function of the engine is checked against its annotations.

Shapes are jaxtyping's to check. Its wrapper binds and remembers the arguments of every call, which costs
more than most of the engine's functions do, and so does asking whether an object has all the members of a
protocol. Of functions with either each test's first calls are checked, every fiftieth after that; the others
are checked by beartype alone, at every call.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

_with_shapes = jaxtyping.jaxtyped
_CONF = BeartypeConf(violation_type=jaxtyping.TypeCheckError)
_ALWAYS, _EVERY = 4, 50
_calls: Counter[FunctionType] = Counter()
"""Of this test, by function with shapes or protocols."""


def begin_test() -> None:
    """The first calls are checked again."""
    _calls.clear()


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
        if not isinstance(item, FunctionType):
            return _with_shapes(item, typechecker=typechecker)
        if _have_shapes(hints := _hints(item)):
            return _at_times(_with_shapes(item, typechecker=typechecker), item)
        item.__annotations__ = hints
        typed = beartype(conf=_CONF)(item)
        return _at_times(typed, item) if any(map(_has_protocol, hints.values())) else typed

    return check


def _at_times(checked: Callable, unchecked: FunctionType) -> Callable:
    @wraps(unchecked)
    def call(*args: Any, **kwargs: Any) -> Any:
        _calls[unchecked] = count = _calls[unchecked] + 1
        checks = count <= _ALWAYS or count % _EVERY == 0
        return (checked if checks else unchecked)(*args, **kwargs)

    return call


def _have_shapes(hints: dict[str, Any]) -> bool:
    return any("jaxtyping." in repr(hint) for hint in hints.values())


def _has_protocol(hint: Any) -> bool:
    return getattr(hint, "_is_protocol", False) or any(map(_has_protocol, get_args(hint)))


def _hints(function: FunctionType) -> dict[str, Any]:
    """Annotations with their names looked up, without those that only a type checker can look up."""
    hints = {}
    for name, hint in function.__annotations__.items():
        try:
            hints[name] = _looked_up(hint, function.__globals__)
        except NameError:
            continue
    return hints


def _looked_up(hint: Any, names: dict[str, Any]) -> Any:
    """A recursive type goes two levels deep: beartype fails at one that refers to itself."""
    found = _evaluated(hint, names, {})
    within = re.findall(r"ForwardRef\('(\w+)'\)", repr(found))
    return _evaluated(hint, names, {name: _evaluated(names[name], names, {name: Any}) for name in within})


def _evaluated(hint: Any, names: dict[str, Any], first: dict[str, Any]) -> Any:
    holder = type("holder", (), {"__annotations__": {"hint": hint}})
    return get_type_hints(holder, names, first, include_extras=True)["hint"]
