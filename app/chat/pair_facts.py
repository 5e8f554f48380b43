"""A pair, or a model of the Hub, on this machine: whether it fits, and how fast it is, in words."""

import re
from dataclasses import dataclass

from app.shell.expected_speed import sentence
from app.shell.printable import one_line
from models.hub.removal import removable_bytes
from models.hub.search import FoundModel
from models.pairs.catalogue import Pair, fitting_draft
from models.pairs.installed import installed
from models.pairs.pair import Source
from models.size_text import size_text
from models.speed.chips import Chip
from models.speed.fit import Fit, fit
from models.speed.fitting_drafters import NOTICEABLE, FittingDrafter, fitting_drafters
from models.speed.machine import Machine
from models.speed.roofline import Expectation, expect

GROUPS = ("On this machine", "Fits here", "Tight here", "Does not fit here")
NO_FILES = "lookup, and recycling and lookahead for a target without a draft model: need no files"
"""The drafters available for every target."""
MADE_HERE = "eagle, medusa, model, characters, layer_skip of your own: mlx-spec train {name} --kind KIND"
"""The drafters that can be trained for a pair's target."""
WORKING_BYTES = 600_000_000
"""Estimate for the caches at 4096 tokens and the activations."""
_BITS = re.compile(r"(\d)-?bit", re.IGNORECASE)

NOT_VERIFIED = "Not verified: sizes are mostly computed, the licence is from memory."


@dataclass(frozen=True, slots=True)
class Facts:
    pair: Pair
    installed: bool
    removable_bytes: int = 0
    fit: Fit | None = None
    """None until the slow facts are known."""
    expected: Expectation | None = None
    """None where nothing is predicted: no Mac, or unknown models."""
    measured: str = ""
    """The last speed measured on this machine; empty if there is none."""
    drafters: tuple[FittingDrafter, ...] = ()


def all_facts(pair: Pair, machine: Machine, chip: Chip | None, measured: str) -> Facts:
    removable = removable_bytes(pair.spec)
    expected = expect(pair, chip) if chip else None
    drafters = tuple(fitting_drafters(pair, chip))
    return Facts(pair, installed(pair.spec), removable, fit(pair, machine), expected, measured, drafters)


def matches(facts: Facts, words: str) -> bool:
    """Whether the pair's facts contain every word of the filter."""
    pair, fit = facts.pair, facts.fit
    known = f"{pair.name} {pair.target} {pair.draft} {pair.family} {pair.licence} {pair.quantization} "
    known += f"{pair.good_for} {'installed' if facts.installed else ''} {fit.verdict if fit else ''}"
    return all(word in known.lower() for word in words.lower().split())


def group(facts: Facts) -> int:
    """Index into `GROUPS`; a pair not checked yet counts as one that fits."""
    if facts.installed:
        return 0
    verdicts = {"fits": 1, "tight": 2, "does not fit": 3}
    return verdicts[facts.fit.verdict] if facts.fit else 1


def details(facts: Facts) -> str:
    """A pair's facts as text, without its drafters."""
    pair, expected = facts.pair, facts.expected
    sizes = f"{pair.quantization}, {size_text(pair.memory_bytes)} of memory, licence: {pair.licence}"
    lines = [
        f"{pair.name}: {pair.good_for}",
        f"target {pair.target}",
        f"{sizes}, {size_text(facts.removable_bytes)} on disk" if facts.removable_bytes else sizes,
    ]
    if facts.fit:
        lines.append(f"Here: {facts.fit.verdict}, it {facts.fit.why}.")
    if expected:
        lines.append(sentence(expected))
    lines.append(f"Measured here: {facts.measured}." if facts.measured else "Not measured here yet.")
    if not pair.verified:
        lines.append(f"? {NOT_VERIFIED}")
    return "\n".join(one_line(line) for line in lines)


def drafter_row(drafter: FittingDrafter) -> str:
    """`eagle: ships with the program · 10.5 MB · 1.32x expected · here`."""
    known = [drafter.source]
    if drafter.bytes:
        known.append(size_text(drafter.bytes))
    if drafter.gain is not None:
        known.append(f"{drafter.gain:.2f}x expected" if drafter.gain > 1 + NOTICEABLE else "no gain expected")
    if drafter.accepted is not None:
        known.append(f"first token accepted {drafter.accepted:.0%}")
    if not drafter.here:
        known.append(f"not here yet, named in {drafter.named_in}" if drafter.named_in else "gone")
    return one_line(f"{drafter.kind}: {' · '.join(known)}")


def hub_facts(found: FoundModel, machine: Machine, chip: Chip | None) -> Facts:
    """A Hub model with the draft that should fit it; without `fit` if the Hub does not give its size."""
    source, bits = Source(found.repo), _BITS.search(found.repo)
    draft = fitting_draft(source)
    pair = Pair(
        name=found.repo,
        target=source,
        draft=Source(draft) if draft else None,
        quantization=f"{bits[1]}-bit" if bits else "bf16",
        download_bytes=found.bytes,
        memory_bytes=found.bytes + WORKING_BYTES,
        licence=found.licence,
    )
    fits = fit(pair, machine) if found.bytes else None
    return Facts(pair, False, fit=fits, drafters=tuple(fitting_drafters(pair, chip)))


def hub_details(found: FoundModel, fit: Fit | None) -> str:
    size = f"{size_text(found.bytes)} of weights" if found.bytes else "size not known"
    licence = found.licence or "no licence named"
    lines = [f"{found.repo}: {size}, {licence}, {found.downloads:,} downloads in 30 days"]
    if found.gated:
        lines.append("Its terms have to be accepted on its page first.")
    if fit:
        lines.append(f"Here: {fit.verdict}, it {fit.why}.")
    return "\n".join(one_line(line) for line in lines)
