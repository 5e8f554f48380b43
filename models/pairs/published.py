"""Drafters published by others for targets of the catalogue, from published.toml, which has the details."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from models.files import shipped_table
from models.pairs.pair import Source

_tables = partial(shipped_table, __file__, "published.toml")


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of a drafter's layers."""

    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    target: int = 0
    """Width of the target's hidden states, for assistants."""


@dataclass(frozen=True, slots=True)
class Round:
    """A published acceptance. Either `accepted`: by position, the chance that all tokens up to it are
    accepted; or for `drafted` tokens per round, the mean `tokens` of a round or the accepted share `rate`."""

    text: str
    source: str
    temperature: float | None = None
    """None: not published."""
    accepted: Sequence[float] = ()
    drafted: int = 0
    tokens: float = 0.0
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Published:
    """A published drafter. We have not fetched it; `source` is where its repository is named."""

    repo: str
    kind: str
    """As in `models.pairs.folder`."""
    targets: Sequence[str]
    source: str
    layout: Layout | None
    """None if unknown."""
    vocab: int | None = None
    """Size of its output vocabulary; None: the layout's."""
    taps: int | None = None
    """Number of the target's layers that it reads; None: its kind's default."""
    bits: float | None = None
    """Per weight when loaded, scales included; None: as the target's."""
    bytes: int | None = None
    """File size as published; None: unknown."""
    copies: int = 0
    """Unused copies of the target's embedding or output matrix in its file."""
    licence: str = ""
    original: bool = False
    """Whether it is the target's original repository, of which only the MTP layer is kept."""
    rounds: Sequence[Round] = ()


def published_for(target: Source) -> list[Published]:
    """The published drafters for a target, matched by its name, in the file's order."""
    name = Path(target.repo).name.lower()
    return [drafter for drafter in all_published() if any(part in name for part in drafter.targets)]


@cache
def all_published() -> tuple[Published, ...]:
    """All entries of published.toml."""
    return tuple(_published(table) for table in _tables()["drafter"])


@cache
def all_layouts() -> dict[str, Layout]:
    return {name: Layout(**sizes) for name, sizes in _tables()["layout"].items()}


def _published(table: dict[str, Any]) -> Published:
    facts = {name: value for name, value in table.items() if name not in ("layout", "round")}
    layout = all_layouts()[table["layout"]] if "layout" in table else None
    return Published(**facts, layout=layout, rounds=[Round(**each) for each in table.get("round", ())])
