"""A pair as this machine sees it: installed or not, fits or not, how fast, in words."""

from dataclasses import dataclass

from app.shell.expected_speed import SOURCE, with_range
from app.shell.printable import one_line
from models.pairs.catalogue import Pair, package_of
from models.pairs.installed import find_folder, installed
from models.pairs.own_drafters import own_drafters
from models.size_text import size_text
from models.speed.chips import Chip
from models.speed.fit import Fit, fit
from models.speed.machine import Machine
from models.speed.roofline import Expectation, expect

NOT_VERIFIED = "Not verified: sizes are computed, names and licence are from memory."


@dataclass(frozen=True, slots=True)
class Facts:
    pair: Pair
    installed: bool
    removable_bytes: int = 0
    fit: Fit | None = None
    """None until the machine was asked."""
    expected: Expectation | None = None
    """None where nothing is predicted: no Mac, or unknown models."""
    measured: str = ""
    """The last speed measured on this machine; empty if there is none."""
    drafters: tuple[str, ...] = ()
    """Kinds of those that belong to the target."""


def first_facts(pair: Pair) -> Facts:
    return Facts(pair, installed(pair.spec))


def all_facts(pair: Pair, machine: Machine, chip: Chip | None, measured: str) -> Facts:
    from models.hub.removal import removable_bytes  # huggingface_hub takes a moment to load

    pulled = [source for source in pair.spec.sources if not source.is_local or package_of(source)]
    here = any(map(find_folder, pulled))
    removable = removable_bytes(pair.spec) if here else 0
    expected = expect(pair, chip) if chip else None
    drafters = tuple(own_drafters(pair.target)[0])
    return Facts(pair, installed(pair.spec), removable, fit(pair, machine), expected, measured, drafters)


def matches(facts: Facts, words: str) -> bool:
    """Whether every word typed into the filter occurs in what is known of the pair."""
    pair, fit = facts.pair, facts.fit
    known = f"{pair.name} {pair.target} {pair.draft} {pair.family} {pair.licence} {pair.quantization} "
    known += f"{pair.good_for} {'installed' if facts.installed else ''} {fit.verdict if fit else ''}"
    return all(word in known.lower() for word in words.lower().split())


def details(facts: Facts) -> str:
    pair, expected = facts.pair, facts.expected
    lines = [
        f"{pair.name}: {pair.good_for}",
        f"target {pair.target}",
        f"draft  {pair.draft or 'none'}",
        *([f"also   {', '.join(facts.drafters)}"] if facts.drafters else []),
    ]
    sizes = f"{pair.quantization}, {size_text(pair.memory_bytes)} of memory, licence: {pair.licence}"
    lines.append(f"{sizes}, {size_text(facts.removable_bytes)} on disk" if facts.removable_bytes else sizes)
    if facts.fit:
        lines.append(f"Here: {facts.fit.verdict}, it {facts.fit.why}.")
    if expected:
        plain = with_range(expected.plain, expected.plain_range, "tok/s")
        drafted = with_range(expected.drafted, expected.drafted_range)
        lines.append(f"Expected on an {expected.chip.name}: {plain}, drafted {drafted}; {SOURCE}.")
    lines.append(f"Measured here: {facts.measured}." if facts.measured else "Not measured here yet.")
    if not pair.verified:
        lines.append(f"? {NOT_VERIFIED}")
    return "\n".join(one_line(line) for line in lines)
