"""What the picker says about a pair, and how far a download is, in words."""

from app.printable import one_line
from models.catalogue import Pair
from models.progress import Progress
from models.size_text import size_text

SHORT_STATES = {"does not fit": "too big"}

PHASES = {
    "asking": "asking the Hub",
    "tokenizers": "fetching the tokenizers",
    "weights": "fetching the weights",
    "checking": "checking the files",
    "done": "done",
}


def row(pair: Pair, state: str, *, wide: bool) -> str:
    """One line of the list."""
    size = size_text(pair.download_bytes) if pair.download_bytes else "shipped"
    if not wide:
        return f"{pair.name:<17} {size:>7} {SHORT_STATES.get(state, state)}"
    mark = " " if pair.verified else "?"
    return f"{pair.name:<18} {size:>9} {size_text(pair.memory_bytes):>9}{mark} {state:<13} {pair.licence}"


def header(*, wide: bool) -> str:
    if not wide:
        return f"{'pair':<17} {'size':>7} here"
    return f"{'pair':<18} {'download':>9} {'memory':>9}  {'here':<13} licence"


def details(pair: Pair, why: str) -> str:
    """Everything known about a pair, several lines. `why` says how it fits this machine."""
    lines = [
        f"{pair.name}: {pair.good_for}",
        f"target {pair.target}",
        f"draft  {pair.draft}",
        f"{pair.quantization}, {size_text(pair.memory_bytes)} of memory, {pair.licence}",
    ]
    if why:
        lines.append(f"Here: {why}.")
    if not pair.verified:
        lines.append("? Not verified: sizes are computed, names and licence are from memory.")
    return "\n".join(one_line(line) for line in lines)


def pulling(name: str, progress: Progress | None) -> str:
    """How far a download is, one line."""
    if progress is None:
        return f"{name}: starting the download"
    parts = [f"{name}: {PHASES[progress.phase]}"]
    if progress.total_bytes:
        parts.append(f"{size_text(progress.done_bytes)} of {size_text(progress.total_bytes)}")
        parts.append(f"{progress.fraction:.0%}")
    if progress.stalled:
        parts.append("stalled: no byte for some seconds")
    elif progress.bytes_per_second:
        parts.append(f"{size_text(int(progress.bytes_per_second))}/s")
    return one_line(" · ".join(parts))
