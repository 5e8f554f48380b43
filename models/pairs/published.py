"""Drafters that others published, for targets of the catalogue: reads published.toml, which explains them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from models.pairs.pair import Source


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
    """Numbers of the target's hidden states, where an assistant reads wider ones than its own."""


@dataclass(frozen=True, slots=True)
class Round:
    """A published acceptance: `accepted` by position, each with all before it, else with `drafted` tokens the
    `tokens` of a round or the accepted share of drafted tokens, `rate`.
    """

    text: str
    source: str
    temperature: float
    accepted: tuple[float, ...] = ()
    drafted: int = 0
    tokens: float = 0.0
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Published:
    """Nobody here has fetched it: its name stands in `source`."""

    repo: str
    kind: str
    """As in `models.pairs.folder`."""
    targets: tuple[str, ...]
    source: str
    layout: Layout | None
    """None where its sizes are not known."""
    vocab: int | None = None
    """Tokens that it guesses among; None: the layout's."""
    taps: int | None = None
    """Layers of the target that it reads; None: as many as its kind has."""
    bits: float | None = None
    """Per weight as stored, scales included; None: as many as the target's."""
    bytes: int | None = None
    """As published; None: not said."""
    copies: int = 0
    """Matrices of the target's vocabulary in its file that are not read."""
    licence: str = ""
    rounds: tuple[Round, ...] = ()


def published_for(target: Source) -> list[Published]:
    """Those for a target, going by its name, in the file's order."""
    name = Path(target.repo).name.lower()
    return [drafter for drafter in all_published() if any(part in name for part in drafter.targets)]


@cache
def all_published() -> tuple[Published, ...]:
    """Every published drafter that this program knows by name."""
    return tuple(_published(table) for table in _tables()["drafter"])


@cache
def all_layouts() -> dict[str, Layout]:
    return {name: Layout(**sizes) for name, sizes in _tables()["layout"].items()}


def _published(table: dict[str, Any]) -> Published:
    rounds = (
        Round(**{**each, "accepted": tuple(each.get("accepted", ()))}) for each in table.get("round", ())
    )
    facts = {name: value for name, value in table.items() if name != "round"}
    layout = all_layouts()[table["layout"]] if "layout" in table else None
    return Published(
        **{**facts, "targets": tuple(table["targets"]), "layout": layout, "rounds": tuple(rounds)}
    )


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text())
