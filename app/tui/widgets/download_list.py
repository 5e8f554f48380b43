"""Downloads as text: a line each below the pairs, a few characters in the chat, a sentence at the end."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from app.chat.pull_queue import PullJob
from app.shell.number_text import bar
from app.shell.printable import one_line
from app.shell.pull_text import parts
from app.tui.keys.in_force import Keys
from models.hub.progress import Progress

BAR_CELLS = 8


class DownloadList(Static):
    """Running, waiting, paused, cancelled and failed downloads; hidden if there are none."""

    def show(self, jobs: Sequence[PullJob], keys: Keys) -> None:
        self.display = bool(jobs)
        self.update(Content("\n".join(download_line(job, keys) for job in jobs)))


def download_line(job: PullJob, keys: Keys) -> str:
    name = job.pair.name
    resumes = keys.fill_in("{pairs.retry} resumes")
    lines = {
        "waiting": f"◌ {name}: waiting for its turn",
        "failed": f"✗ {name} failed, {keys.fill_in('{pairs.retry} tries again.')} {job.error}",
        "paused": f"‖ {name}: paused. {resumes}, {keys.fill_in('{pairs.cancel} cancels.')}",
        "cancelled": f"- {name}: cancelled, the downloaded part is kept. {resumes}.",
        "done": f"✓ {name}: installed",
        "running": f"↓ {progress_line(name, job.progress)}",
    }
    return one_line(lines[job.state])


def progress_line(name: str, progress: Progress | None) -> str:
    if progress is None:
        return one_line(f"{name}: starting the download")
    share = f"{bar(int(progress.fraction * BAR_CELLS), BAR_CELLS)} " if progress.total_bytes else ""
    return one_line(f"{name}: {share}{' · '.join(parts(progress))}")


def short_line(jobs: Sequence[PullJob]) -> str:
    """The unfinished downloads in a few characters, for the chat's status line."""
    if not jobs:
        return ""
    running = next((job for job in jobs if job.state == "running"), jobs[0])
    progress = running.progress
    share = f" {progress.fraction:.0%}" if progress and progress.total_bytes else ""
    stalled = " stalled" if progress and progress.stalled_seconds else ""
    more = f" +{len(jobs) - 1}" if len(jobs) > 1 else ""
    return one_line(f"↓ {running.pair.name}{share}{stalled}{more}")


def outcome(job: PullJob) -> str:
    if job.state == "failed":
        return f"{job.pair.name} was not downloaded. {job.error}"
    if job.state == "cancelled":
        return f"The download of {job.pair.name} was cancelled. The downloaded part is kept."
    return f"{job.pair.name} is installed. /use {job.pair.name} answers with it."


def paused_line(jobs: Sequence[PullJob], keys: Keys) -> str:
    names = ", ".join(job.pair.name for job in jobs)
    was = "The download of" if len(jobs) == 1 else "Downloads of"
    how = keys.fill_in("{app.pairs}, then {pairs.retry} resumes the download.")
    return f"{was} {names} did not finish before the program ended. {how}"
