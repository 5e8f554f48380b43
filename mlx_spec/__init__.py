"""The engine of mlx-spec: speculative decoding on MLX that never changes the text.

Token ids and arrays in, rounds out; it knows nothing of text, files, network or screens. MLX is loaded when
`Engine` is first used: the plain values cost nothing.
"""

from typing import TYPE_CHECKING, Any

from mlx_spec.errors import BadOption, ContextFull, SpecError, UnsupportedModel
from mlx_spec.stats import Stats, summarise
from mlx_spec.types import Options, Round

if TYPE_CHECKING:
    from mlx_spec.engine import Engine

__all__ = [
    "BadOption",
    "ContextFull",
    "Engine",
    "Options",
    "Round",
    "SpecError",
    "Stats",
    "UnsupportedModel",
    "summarise",
]


def __getattr__(name: str) -> Any:
    if name != "Engine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mlx_spec.engine import Engine

    return Engine
