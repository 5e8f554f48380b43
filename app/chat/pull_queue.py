"""Downloads during the chat: one runs, the others wait.

Downloads that an earlier run of the program did not finish are paused or failed. They resume only when the
person says so: the connection may be metered, and a pair is gigabytes.
"""

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from app.shell.left_behind import LeftBehind
from models.errors import ModelsError, PullCancelled
from models.hub.download import pull
from models.hub.progress import Progress
from models.pairs.installed import installed
from models.pairs.pair import PairSpec

STOP_SECONDS = 3.0

JobState = Literal["waiting", "running", "paused", "done", "failed", "cancelled"]

UNFINISHED: tuple[JobState, ...] = ("running", "waiting")
NOT_HERE: tuple[JobState, ...] = (*UNFINISHED, "paused", "failed", "cancelled")


class PullJob:
    """Pulls a pair on a thread of its own; screens look at it a few times a second."""

    def __init__(self, pair: PairSpec, state: JobState = "waiting", error: str = "") -> None:
        self.pair = pair
        self.state: JobState = state
        self.progress: Progress | None = None
        """None until the download process reports."""
        self.error = error
        self.again = False
        """It was asked for again while it stops."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pull", daemon=True)

    @property
    def unfinished(self) -> bool:
        return self.state in UNFINISHED

    @property
    def is_wanted(self) -> bool:
        return self.state not in ("done", "cancelled")

    def start(self) -> None:
        self.state = "running"
        self._thread.start()

    def cancel(self) -> None:
        """Stop the download, or drop it if it is not running; files that have arrived are kept."""
        self._stop.set()
        self.again = False
        if self.state in ("waiting", "paused", "failed"):
            self.state = "cancelled"

    def ask_again(self) -> None:
        """Has it begin anew once it has stopped, if it is stopping."""
        self.again = self._stop.is_set()

    def wait(self) -> None:
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            for progress in pull(self.pair, cancelled=self._stop.is_set):
                self.progress = progress
            self.state = "done"
        except PullCancelled:
            # Done if all had come and was being checked.
            self.state = "done" if installed(self.pair) else "cancelled"
        except Exception as error:
            # The thread ends here: a job that stayed `running` would block the rest.
            known = isinstance(error, ModelsError | OSError)
            self.error = str(error) if known else f"Downloading failed: {type(error).__name__}: {error}"
            self.state = "failed"


class PullQueue:
    """Paused downloads, then those of this run of the program, in the order they were asked for."""

    def __init__(self, folder: Path) -> None:
        """`folder` lists the unfinished downloads of earlier runs."""
        self._kept = LeftBehind(folder)
        self._ended = False
        self._kept_pairs: dict[PairSpec, str] | None = None
        left: dict[PairSpec, str] = {}

        def take(pairs: list[tuple[PairSpec, str]]) -> object:
            left.update(pairs)
            return _rows(left)

        with suppress(OSError):
            self._kept.take_over(list[tuple[PairSpec, str]], take)
        self.jobs = [
            PullJob(pair, "failed" if why else "paused", why)
            for pair, why in left.items()
            if not installed(pair)
        ]
        self._reported = set(self.jobs)
        self._keep()

    @property
    def paused(self) -> list[PullJob]:
        return [job for job in self.jobs if job.state == "paused"]

    def not_here(self, chosen: PairSpec | None = None) -> list[PullJob]:
        """Jobs whose pair is not installed: the running one, the chosen pair's, then the rest."""
        states = [(job, job.state) for job in self.jobs]  # read once: a download may end meanwhile
        places = {job: NOT_HERE.index(state) for job, state in states if state in NOT_HERE}
        return sorted(places, key=lambda job: (places[job] > 0, job.pair != chosen, places[job]))

    @property
    def unfinished(self) -> list[PullJob]:
        return [job for job in self.jobs if job.unfinished]

    def of(self, pair: PairSpec) -> PullJob | None:
        return next((job for job in self.jobs if job.pair == pair), None)

    def add(self, pair: PairSpec) -> PullJob:
        """Download a pair, or try again; an unfinished job stays as it is."""
        job = self.of(pair)
        if job is not None and job.unfinished:
            job.ask_again()
            return job
        self.jobs = [job for job in self.jobs if job.pair != pair] + [PullJob(pair)]
        self._start_next()
        return self.jobs[-1]

    def forget(self, pair: PairSpec) -> None:
        """Drop the download of a pair that was removed, unless it began again meanwhile."""
        self.jobs = [job for job in self.jobs if job.pair != pair or job.unfinished]
        self._keep()

    def advance(self) -> list[PullJob]:
        """Start the next download if none runs; return the jobs that ended since the last call."""
        self._start_next()
        ended = [job for job in self.jobs if not job.unfinished and job not in self._reported]
        self._reported.update(ended)
        return ended

    def _start_next(self) -> None:
        self.jobs = [
            PullJob(job.pair) if job.again and job.state == "cancelled" else job for job in self.jobs
        ]
        if not any(job.state == "running" for job in self.jobs) and self.unfinished:
            self.unfinished[0].start()
        self._keep()

    def cancel(self, pair: PairSpec | None) -> PullJob | None:
        """Cancel this pair's download, else the one that runs, else one that waits or was paused."""
        wanted = [job for job in self.jobs if job.is_wanted]
        of_pair = [job for job in wanted if job.pair == pair]
        job = next(iter(of_pair or self.unfinished or wanted), None)
        if job is not None:
            job.cancel()
        return job

    def resume(self, pair: PairSpec | None) -> None:
        """Go on with this pair's download, else with all paused and failed ones, else the last cancelled."""
        ended = [job for job in self.jobs if not job.unfinished and job.state != "done"]
        of_pair = [job for job in ended if job.pair == pair]
        others = [job for job in ended if job.state != "cancelled"]
        for job in of_pair or others or ended[-1:]:
            self.add(job.pair)

    def end(self) -> None:
        """Stop all downloads and wait for them. Unfinished ones are remembered for the next start."""
        self._ended = True
        for job in self.unfinished:
            job.cancel()
        for job in self.jobs:
            job.wait()
        self._kept.close()

    def _keep(self) -> None:
        pairs = {job.pair: job.error for job in self.jobs if job.is_wanted}
        if pairs != self._kept_pairs and not self._ended:
            self._kept_pairs = pairs
            # The chats are on the same disk: its errors are shown when they cannot be saved.
            with suppress(OSError):
                self._kept.keep(_rows(pairs)) if pairs else self._kept.drop()


def _rows(pairs: Mapping[PairSpec, str]) -> object:
    """In JSON's form."""
    return [(asdict(pair), error) for pair, error in pairs.items()]
