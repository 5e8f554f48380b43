"""Downloads that go on while the person does something else: one at a time, the others wait their turn."""

import threading
from typing import Literal

from models.download import pull
from models.errors import ModelsError, PullCancelled
from models.pair import PairSpec
from models.progress import Progress

STOP_SECONDS = 3.0

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


class PullJob:
    """Pulls a pair on a thread of its own; screens look at it a few times a second."""

    def __init__(self, pair: PairSpec) -> None:
        self.pair = pair
        self.state: JobState = "waiting"
        self.progress: Progress | None = None
        """None until the first word from the download process."""
        self.error: str = ""
        """What went wrong, for the user."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pull", daemon=True)

    @property
    def unfinished(self) -> bool:
        """It waits or runs."""
        return self.state in ("waiting", "running")

    def start(self) -> None:
        self.state = "running"
        self._thread.start()

    def cancel(self) -> None:
        """Ask it to stop; finished files are kept."""
        self._stop.set()
        if self.state == "waiting":
            self.state = "cancelled"

    def wait(self) -> None:
        """Until its process is gone."""
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            for progress in pull(self.pair, cancelled=self._stop.is_set):
                self.progress = progress
            self.state = "done"
        except PullCancelled:
            self.state = "cancelled"
        except (ModelsError, OSError) as error:
            self.error = str(error)
            self.state = "failed"


class PullQueue:
    """The downloads of this run of the program, in the order they were asked for."""

    def __init__(self) -> None:
        self.jobs: list[PullJob] = []
        """One for each pair, ended ones too."""
        self._told: set[PullJob] = set()

    @property
    def unfinished(self) -> list[PullJob]:
        return [job for job in self.jobs if job.unfinished]

    def of(self, pair: PairSpec) -> PullJob | None:
        """The download of this pair, if one was asked for."""
        return next((job for job in self.jobs if job.pair == pair), None)

    def add(self, pair: PairSpec) -> PullJob:
        """Download a pair, or try again; one that is on its way stays as it is."""
        job = self.of(pair)
        if job is not None and job.unfinished:
            return job
        self.jobs = [job for job in self.jobs if job.pair != pair] + [PullJob(pair)]
        self.advance()
        return self.jobs[-1]

    def advance(self) -> list[PullJob]:
        """Begin the next download where none runs; gives those that ended since the last call."""
        if not any(job.state == "running" for job in self.jobs):
            waiting = next((job for job in self.jobs if job.state == "waiting"), None)
            if waiting is not None:
                waiting.start()
        ended = [job for job in self.jobs if not job.unfinished and job not in self._told]
        self._told.update(ended)
        return ended

    def end(self) -> None:
        """Stop everything and wait until no process is left."""
        for job in self.unfinished:
            job.cancel()
        for job in self.jobs:
            job.wait()
