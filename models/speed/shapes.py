"""What one decoded token reads of a model: reads shapes.toml, finds a model by its repository's name."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Shape:
    """One line of shapes.toml."""

    names: tuple[str, ...]
    """Parts of repository names, lower case."""
    parameters: float
    """Read for one token, in billions."""
    layers: int
    kv: int
    """Bytes of keys and values per token of context, in 16 bit."""
    experts: int = 0
    """Layers with routed experts."""
    recurrent: int = 0
    """Layers with a recurrent state instead of attention."""
    sandwich: int = 0
    """Layers with norms after attention and after the MLP too."""

    @property
    def special_layers(self) -> int:
        """Layers that launch more kernels than Llama's; one that is special twice counts twice."""
        return self.experts + self.recurrent + self.sandwich


@cache
def all_shapes() -> tuple[Shape, ...]:
    tables = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text())["shape"]
    return tuple(Shape(**{**table, "names": tuple(table["names"])}) for table in tables)


def find_shape(model: str) -> Shape | None:
    """The shape of a repository, folder or model name; None where we do not know it."""
    name = model.lower()
    found = [(len(part), shape) for shape in all_shapes() for part in shape.names if part in name]
    return max(found, key=lambda pair: pair[0])[1] if found else None
