"""The rows of the pairs screen."""

from app.chat.pair_facts import Facts
from app.chat.pull_queue import PullJob
from app.shell.number_text import bar
from app.shell.printable import printable
from models.size_text import size_text
from models.speed.fit import Fit
from models.speed.roofline import Expectation

BAR_CELLS = 8

SHORT_STATES = {"does not fit": "too big", "installed": "ready"}


def header(*, width: int, predicts: bool) -> str:
    if width < 80:
        return f"{'pair':<17} {'size':>7} here"
    line = f"{'pair':<18} {'download':>8}  {'memory':<14} {'here':<13}"
    if predicts:
        line += f" {'tok/s, draft':<12}"
    return f"{line} licence"


def row(facts: Facts, state: str, *, width: int, predicts: bool) -> str:
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


def state(facts: Facts, job: PullJob | None, *, in_use: bool) -> str:
    """Its download while there is one to come, then whether it is here, then whether it would fit."""
    if job is not None and job.state == "running":
        return f"↓ {job.progress.fraction:.0%}" if job.progress else "↓ asking"
    if job is not None and job.state in ("waiting", "paused", "failed"):
        return job.state
    if facts.installed:
        return "in use" if in_use else "installed"
    return facts.fit.verdict if facts.fit else "…"


def memory_bar(fit: Fit) -> str:
    """How much of the machine's memory a pair takes."""
    share = f"{fit.memory_share:.0%}" if fit.memory_share < 10 else ">999%"
    return f"{bar(round(fit.memory_share * BAR_CELLS), BAR_CELLS)} {share:>5}"


def _speeds(expected: Expectation | None) -> str:
    return f"{expected.plain:.0f} → {expected.drafted:.0f}" if expected else "unknown"


def _cut(text: str, cells: int) -> str:
    return text if len(text) <= cells else f"{text[: cells - 1]}…"
