"""Pairs as rows of a list, and one pair in full."""

from collections.abc import Sequence
from shlex import quote

from textual.content import Content

from app.chat.pair_facts import MADE_HERE, NO_FILES, Facts, details, drafter_row
from app.chat.pull_queue import PullJob
from app.shell.number_text import bar, rate_text
from app.shell.printable import one_line
from app.tui.widgets.item_list import column
from models.pairs.folder import MODEL
from models.size_text import size_text
from models.speed.fit import Fit, Verdict
from models.speed.fitting_drafters import FittingDrafter

FRAME = 6
"""Columns of border, padding and scrollbar."""

BAR_CELLS = 8
BAR_STYLES: dict[Verdict, str] = {
    "fits": "$text-success", "tight": "$text-warning", "does not fit": "$text-error"
}  # fmt: skip
WIDE = 80
"""Terminal columns from which rows have more than name, size and state."""
WITH_LICENCE = 100
"""Terminal columns from which rows have licences and predicted speeds."""


def header(*, width: int, predicts: bool) -> str:
    if width < WIDE:
        return f"{'pair':<17} {'size':>7} here"
    name, kinds, licence = _cells(width, predicts)
    line = f"{'pair':<{name}} {'download':>8}  {'memory':<14} {'here':<13} {'drafted by':<{kinds}}"
    if predicts:
        line += f" {'tok/s, drafted':<14}"
    return f"{line} licence" if licence else line


def _cells(width: int, predicts: bool) -> tuple[int, int, int]:
    """Cells of the name, the drafters and the licence: 20, 14 and those left, up to 36, then more of each."""
    left = width - FRAME - 76 - 15 * predicts
    more = max(0, left - 36) // 2
    return 20 + more // 2, 14 + more, left - more - more // 2 if width >= WITH_LICENCE and left > 9 else 0


def row(facts: Facts, state: str, *, width: int, predicts: bool) -> Content:
    """A pair's row, muted if the pair does not fit."""
    pair = facts.pair
    style = "$text-muted" if facts.fit and facts.fit.verdict == "does not fit" else ""
    size = size_text(pair.download_bytes) if pair.download_bytes else "here" if facts.installed else "gone"
    if width < WIDE:
        text = f"{column(pair.name, 17)} {size:>7} {'too big' if state == 'does not fit' else state}"
        return Content.styled(text, style)
    mark = " " if pair.verified else "?"
    memory = memory_bar(facts.fit) if facts.fit else Content(" " * 14)
    name_cells, kinds_cells, licence_cells = _cells(width, predicts)
    before = f"{column(pair.name, name_cells)} {size:>8}{mark} "
    kinds = ", ".join(dict.fromkeys(drafter.kind for drafter in facts.drafters))
    after = f" {state:<13} {column(kinds, kinds_cells)}"
    if predicts:
        after += f" {_speeds(facts):<14}"
    after += f" {column(pair.licence, licence_cells)}".rstrip()
    return Content.assemble((before, style), memory, (after, style))


def about(facts: Facts) -> Content:
    """Everything about a pair: its name, its drafters, its other facts."""
    name, *lines = details(facts).split("\n")
    made = one_line(MADE_HERE.format(name=quote(facts.pair.name)))
    return Content.assemble(
        (f"{name}\n", "bold"), drafted_by(facts.drafters), f"\n+ {made}",
        ("\n" + "\n".join(lines), "$text-muted"),
    )  # fmt: skip


def drafted_by(drafters: Sequence[FittingDrafter]) -> Content:
    """The drafters, one per line, each marked as installed or not."""
    rows = [f"{'✓' if drafter.here else '↓'} {drafter_row(drafter)}" for drafter in drafters]
    return Content.assemble(("Drafted by\n", "$text-accent"), "\n".join([*rows, f"✓ {NO_FILES}"]))


def state(facts: Facts, job: PullJob | None, *, in_use: bool) -> str:
    """A pair's unfinished download, else whether it is installed, else whether it would fit."""
    if job is not None and job.state == "running":
        return f"↓ {job.progress.fraction:.0%}" if job.progress else "↓ asking"
    if job is not None and job.state in ("waiting", "paused", "failed"):
        return job.state
    if facts.installed:
        return "in use" if in_use else "installed"
    return facts.fit.verdict if facts.fit else "…"


def memory_bar(fit: Fit) -> Content:
    """How much of the machine's memory a pair takes."""
    share = f"{fit.memory_share:.0%}" if fit.memory_share < 10 else ">999%"
    cells = bar(round(fit.memory_share * BAR_CELLS), BAR_CELLS)
    return Content.assemble((cells, BAR_STYLES[fit.verdict]), f" {share:>5}")


def _speeds(facts: Facts) -> str:
    """Plain speed, then drafted: with the pair's draft or another installed drafter, the faster one."""
    if (expected := facts.expected) is None:
        return "unknown"
    heads = [one.speed for one in facts.drafters if one.speed and one.here and one.kind != MODEL]
    if expected.length is None and not heads:
        return rate_text(expected.plain)
    return f"{rate_text(expected.plain)} → {rate_text(max(expected.drafted, *heads, 0))}"
