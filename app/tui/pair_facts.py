"""What the pairs screen says about a pair and about a download, in words and small bars."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.shell.expected_speed import SOURCE, with_range
from app.shell.printable import one_line, printable
from app.shell.pull_text import PHASES, amount, pace
from app.tui.keys.in_force import Keys
from app.tui.pull_queue import PullJob
from models.hub.progress import Progress
from models.pairs.catalogue import Pair
from models.size_text import size_text
from models.speed.fit import Fit
from models.speed.roofline import Expectation

BAR_CELLS = 8

SHORT_STATES = {"does not fit": "too big", "installed": "ready"}


@dataclass(frozen=True, slots=True)
class Facts:
    """A pair as this machine sees it."""

    pair: Pair
    installed: bool
    removable_bytes: int
    """What removing it would free."""
    fit: Fit | None = None
    """None until the machine was asked."""
    expected: Expectation | None = None
    """None where nothing is predicted: no Mac, or unknown models."""
    measured: str = ""
    """The last speed measured on this machine; empty if there is none."""


def matches(facts: Facts, words: str) -> bool:
    """Whether every word typed into the filter occurs in what is known of the pair."""
    pair, fit = facts.pair, facts.fit
    known = f"{pair.name} {pair.target} {pair.draft} {pair.family} {pair.licence} {pair.quantization} "
    known += f"{pair.good_for} {'installed' if facts.installed else ''} {fit.verdict if fit else ''}"
    return all(word in known.lower() for word in words.lower().split())


def row(facts: Facts, state: str, *, width: int, predicts: bool) -> str:
    """One line of the list."""
    pair = facts.pair
    size = size_text(pair.download_bytes) if pair.download_bytes else "here"
    if width < 80:
        return printable(f"{_cut(pair.name, 17):<17} {size:>7} {SHORT_STATES.get(state, state)}")
    mark = " " if pair.verified else "?"
    memory = memory_bar(facts.fit) if facts.fit else ""
    line = f"{_cut(pair.name, 18):<18} {size:>8}{mark} {memory:<14} {state:<13}"
    if predicts:
        line += f" {_speeds(facts.expected):<12}"
    return printable(f"{line} {_cut(pair.licence, 28)}")


def header(*, width: int, predicts: bool) -> str:
    """The titles over the columns of `row`."""
    if width < 80:
        return f"{'pair':<17} {'size':>7} here"
    line = f"{'pair':<18} {'download':>8}  {'memory':<14} {'here':<13}"
    if predicts:
        line += f" {'tok/s, draft':<12}"
    return f"{line} licence"


def memory_bar(fit: Fit) -> str:
    """How much of the machine's memory a pair takes."""
    share = f"{fit.memory_share:.0%}" if fit.memory_share < 10 else ">999%"
    return f"{_bar(min(round(fit.memory_share * BAR_CELLS), BAR_CELLS))} {share:>5}"


def details(facts: Facts) -> str:
    """Everything known about a pair, several lines."""
    pair, expected = facts.pair, facts.expected
    lines = [f"{pair.name}: {pair.good_for}", f"target {pair.target}", f"draft  {pair.draft}"]
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
        lines.append("? Not verified: sizes are computed, names and licence are from memory.")
    return "\n".join(one_line(line) for line in lines)


def in_order(jobs: Iterable[PullJob], chosen: Pair | None) -> list[PullJob]:
    """For a screen without room for all: what runs, then the chosen pair's download, then the rest."""
    return sorted(jobs, key=lambda job: (job.state != "running", not chosen or job.pair != chosen.spec))


def download_line(job: PullJob, keys: Keys) -> str:
    """A download as it stands, one line."""
    name = job.pair.name
    match job.state:
        case "waiting":
            line = f"◌ {name}: waits for its turn"
        case "failed":
            line = f"✗ {name}: {job.error} {keys.told('{pairs.retry} tries again.')}"
        case "paused":
            how = keys.told("{pairs.retry} goes on, {pairs.cancel} gives it up.")
            line = f"‖ {name}: paused. {how}"
        case "cancelled":
            line = f"- {name}: cancelled, what came is kept. {keys.told('{pairs.retry} goes on.')}"
        case "done":
            line = f"✓ {name}: installed"
        case "running":
            line = f"↓ {pulling(name, job.progress)}"
    return one_line(line)


def pulling(name: str, progress: Progress | None) -> str:
    """How far a running download is."""
    if progress is None:
        return f"{name}: starting the download"
    parts: list[str] = []
    # The phase that takes almost all of the time needs no name: its bytes say what it is.
    if progress.phase != "weights" or not progress.total_bytes:
        parts.append(PHASES[progress.phase])
    if progress.total_bytes:
        parts.append(f"{_bar(int(progress.fraction * BAR_CELLS))} {progress.fraction:.0%}")
        parts.append(amount(progress))
    return one_line(f"{name}: {' · '.join([*parts, *pace(progress)])}")


def short_pull(jobs: list[PullJob]) -> str:
    """The unfinished downloads in a few characters, for the chat's status line."""
    if not jobs:
        return ""
    running = next((job for job in jobs if job.state == "running"), jobs[0])
    progress = running.progress
    share = f" {progress.fraction:.0%}" if progress and progress.total_bytes else ""
    stalled = " stalled" if progress and progress.stalled_seconds else ""
    more = f" +{len(jobs) - 1}" if len(jobs) > 1 else ""
    return one_line(f"↓ {running.pair.name}{share}{stalled}{more}")


def outcome(job: PullJob, keys: Keys) -> str:
    """How a download ended."""
    if job.state == "failed":
        return f"{job.pair.name} was not downloaded. {job.error}"
    if job.state == "cancelled":
        return f"The download of {job.pair.name} was cancelled. What came is kept."
    return f"{job.pair.name} is installed. {keys.name('app.pairs')} and Enter use it."


def paused_line(jobs: list[PullJob], keys: Keys) -> str:
    """What to say at the start about downloads that an earlier run of the program did not finish."""
    names = ", ".join(job.pair.name for job in jobs)
    was = "The download of" if len(jobs) == 1 else "Downloads of"
    how = keys.told("{app.pairs}, then {pairs.retry} goes on with what came.")
    return f"{was} {names} had not finished when the program ended. {how}"


def _speeds(expected: Expectation | None) -> str:
    return f"{expected.plain:.0f} → {expected.drafted:.0f}" if expected else "unknown"


def _bar(full: int) -> str:
    return f"{'█' * full}{'░' * (BAR_CELLS - full)}"


def _cut(text: str, cells: int) -> str:
    return text if len(text) <= cells else f"{text[: cells - 1]}…"
