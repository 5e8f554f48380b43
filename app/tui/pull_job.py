"""A download that goes on while the person does something else."""

import threading

from models.download import pull
from models.errors import ModelsError, PullCancelled
from models.pair import PairSpec
from models.progress import Progress

STOP_SECONDS = 3.0


class PullJob:
    """Pulls a pair on a thread of its own; the screen looks at it a few times a second."""

    def __init__(self, pair: PairSpec) -> None:
        self.pair = pair
        self.progress: Progress | None = None
        """None until the first word from the download process."""
        self.error: str | None = None
        """What went wrong, for the user; None while it runs, when it is done, and when it was cancelled."""
        self.cancelled = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pull", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def succeeded(self) -> bool:
        return not self.running and self.error is None and not self.cancelled

    def cancel(self) -> None:
        """Ask it to stop; finished files are kept."""
        self._stop.set()

    def end(self) -> None:
        """Stop it and wait until its process is gone."""
        self.cancel()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            for progress in pull(self.pair, cancelled=self._stop.is_set):
                self.progress = progress
        except PullCancelled:
            self.cancelled = True
        except (ModelsError, OSError) as error:
            self.error = str(error)
