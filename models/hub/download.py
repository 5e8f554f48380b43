"""Pulling a pair from the Hub: a child process downloads, this side reports, cancels and ends it.

Only ending its process stops a running transfer for sure.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from models.child import ChildDied, ask_child, module
from models.errors import MachineTrouble, PullCancelled
from models.hub.endpoint import check_variables
from models.hub.progress import Pace, Progress
from models.pairs.installed import installed
from models.pairs.pair import PairSpec


def pull(spec: PairSpec, *, cancelled: Callable[[], bool] = lambda: False) -> Generator[Progress, None, None]:
    """Download the missing files of a pair; the last value has the phase `done`.

    Yields several times a second, and raises PullCancelled once `cancelled()` is true. Closing the generator
    cancels too. Partial files are kept, and the next pull resumes them.
    """
    if installed(spec):
        yield Progress("done")
    else:
        yield from _run(spec, "pull", cancelled)
        if not installed(spec):  # the models of two pairs may be the same
            raise MachineTrouble(f"Files of {spec.name} were removed during the download. Pull again.")


def check(spec: PairSpec, *, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
    """Fetch the small files of a pair, and check that its models can run and fit each other.

    The last value has the phase `done`, the bytes of a full pull as totals, and harmless notes.
    """
    yield from _run(spec, "check", cancelled)


def _run(spec: PairSpec, task: str, cancelled: Callable[[], bool]) -> Iterator[Progress]:
    check_variables()
    pace, progress = Pace(), Progress("asking")
    try:
        with ask_child(module("models.hub.download_child"), task, spec.sources) as messages:
            for message in messages:
                if cancelled():
                    raise PullCancelled(
                        f"Pulling {spec.name} was cancelled. The downloaded part is kept: "
                        "pull again to resume."
                    )
                progress = message or progress
                fetching = progress.phase in ("tokenizers", "weights")
                pace.add(progress.transferred_bytes, fetching=fetching)
                rate, stalled = pace.rate(), pace.stalled_seconds()
                yield replace(progress, bytes_per_second=rate, stalled_seconds=stalled)
    except ChildDied as error:
        raise MachineTrouble(f"The download process ended unexpectedly ({error}). Pull again.") from None
