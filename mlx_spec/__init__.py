"""The engine of mlx-spec: speculative decoding on MLX that never changes the text.

Token ids and arrays in, rounds out; it knows nothing of text, files, network or screens. Names are
loaded when first used, so that importing the plain values costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlx_spec.engine import Engine
    from mlx_spec.errors import BadOption, ContextFull, SpecError, UnsupportedModel
    from mlx_spec.stats import Stats, summarise
    from mlx_spec.types import Options, Round

_HOMES = {
    "Engine": "engine",
    "BadOption": "errors",
    "ContextFull": "errors",
    "SpecError": "errors",
    "UnsupportedModel": "errors",
    "Stats": "stats",
    "summarise": "stats",
    "Options": "types",
    "Round": "types",
}

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
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
