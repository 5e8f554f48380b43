"""How often drafted tokens are accepted, by family of models, as published: reads roofline.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

OWN_FAMILY = "builtin"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One published observation."""

    family: str
    category: str
    """Of the text: `code`, `chat`, ... or `not said`."""
    rate: float
    """Chance that a drafted token is accepted, given that those before it in the round were."""
    source: str


@dataclass(frozen=True, slots=True)
class AcceptanceRange:
    """What to expect of a family."""

    low: float
    middle: float
    high: float
    published: bool
    """False: nothing was published for this family; the range is that of all others."""


@cache
def all_acceptances() -> tuple[Acceptance, ...]:
    tables = tomllib.loads(Path(__file__).with_name("roofline.toml").read_text())["acceptance"]
    return tuple(Acceptance(t["family"], t["category"], _rate(t), t["source"]) for t in tables)


def acceptance_of(family: str) -> AcceptanceRange:
    """The range of a family's published rates, or of all models but the built-in pair's."""
    own = [a.rate for a in all_acceptances() if a.family == family]
    rates = own or [a.rate for a in all_acceptances() if a.family != OWN_FAMILY]
    return AcceptanceRange(min(rates), median(rates), max(rates), bool(own))


def expected_tokens(rate: float, length: int) -> float:
    """Tokens of a round that drafts `length`: the accepted ones and the bonus (Leviathan, 2211.17192)."""
    return sum(rate**i for i in range(length + 1))


def rate_of_share(share: float, length: int) -> float:
    """The rate at which `share` of an answer's tokens are drafted ones, with rounds of this length."""
    return _solve(1 / (1 - share), length)


def _rate(table: dict) -> float:
    if "rate" in table:
        return table["rate"]
    if "share" in table:
        return round(rate_of_share(table["share"], table["length"]), 3)
    return round(_solve(1 + table["accepted"], table["length"]), 3)


def _solve(tokens: float, length: int) -> float:
    """The rate at which a round brings this many tokens, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, length) < tokens else (low, middle)
    return low
