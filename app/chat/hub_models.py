"""A Hub model on this machine: whether it would fit, and which drafters fit it."""

import re
from dataclasses import dataclass

from app.shell.printable import one_line
from models.hub.search import FoundModel
from models.pairs.catalogue import Pair, fitting_draft
from models.pairs.pair import Source
from models.size_text import size_text
from models.speed.chips import Chip
from models.speed.fit import Fit, fit
from models.speed.fitting_drafters import FittingDrafter, fitting_drafters
from models.speed.machine import Machine

WORKING_BYTES = 600_000_000
"""Estimate for the caches at 4096 tokens and the activations."""
_BITS = re.compile(r"(\d)-?bit", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HubModel:
    found: FoundModel
    fit: Fit | None
    """None if the Hub does not give its size."""
    drafters: tuple[FittingDrafter, ...]


def hub_model(found: FoundModel, machine: Machine, chip: Chip | None) -> HubModel:
    source, bits = Source(found.repo), _BITS.search(found.repo)
    draft = fitting_draft(source)
    pair = Pair(
        name=found.repo,
        target=source,
        draft=Source(draft) if draft else None,
        quantization=f"{bits[1]}-bit" if bits else "bf16",
        download_bytes=found.bytes,
        memory_bytes=found.bytes + WORKING_BYTES,
        family="",
        licence=found.licence,
        good_for="",
        verified=False,
    )
    return HubModel(found, fit(pair, machine) if found.bytes else None, tuple(fitting_drafters(pair, chip)))


def details(model: HubModel) -> str:
    """A model's facts as text, without its drafters."""
    found = model.found
    size = f"{size_text(found.bytes)} of weights" if found.bytes else "size not known"
    licence = found.licence or "no licence named"
    lines = [f"{found.repo}: {size}, {licence}, {found.downloads:,} downloads in 30 days"]
    if found.gated:
        lines.append("Its terms have to be accepted on its page first.")
    if model.fit:
        lines.append(f"Here: {model.fit.verdict}, it {model.fit.why}.")
    return "\n".join(one_line(line) for line in lines)
