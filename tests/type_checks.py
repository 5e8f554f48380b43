"""While the tests run, arrays that the engine takes and gives are checked against its annotations.

Checking costs more than most of the engine's functions do: of the calls of a function the first are checked,
and every hundredth after that. Types without shapes are left to the type checker.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any

import jaxtyping

_with_shapes = jaxtyping.jaxtyped
_FIRST, _EVERY = 20, 100
calls: Counter[FunctionType] = Counter()


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
        if not isinstance(item, FunctionType) or "jaxtyping." not in repr(item.__annotations__):
            return item
        checked = cache(lambda: _with_shapes(item, typechecker=typechecker))

        @wraps(item)
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[item] = count = calls[item] + 1
            return (checked() if count <= _FIRST or count % _EVERY == 0 else item)(*args, **kwargs)

        return call

    return check
