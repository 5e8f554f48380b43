"""Pulling a pair from the Hub: a child process downloads, this side shows, cancels and cleans up.

A child, because a running transfer can only be stopped for sure by ending its process.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Any

import models.errors
from models.errors import ModelsError, PullCancelled
from models.hub.download_process import DownloadProcess, Task
from models.hub.endpoint import check_endpoint
from models.hub.progress import ModelProgress, Pace, Progress
from models.pairs.installed import installed
from models.pairs.pair import PairSpec

_TICK_SECONDS = 0.25


def pull(spec: PairSpec, *, cancelled: Callable[[], bool] = lambda: False) -> Generator[Progress, None, None]:
    """Download what is missing of a pair; the last value has the phase `done`.

    Yields several times a second, and asks `cancelled` as often. Closing the generator cancels too.
    What came stays, and the next pull goes on from there.

    Raises:
        PullCancelled: `cancelled` said so.
        ModelsError: what went wrong; the classes say what can be done.
    """
    if installed(spec):
        yield _done(spec)
        return
    yield from _run(spec, "pull", cancelled)


def check(
    spec: PairSpec, *, cancelled: Callable[[], bool] = lambda: False
) -> Generator[Progress, None, None]:
    """Fetch the small files of a pair, and see whether its models can run and belong together.

    The last value has the phase `done`, the bytes a pull would take as totals, and harmless notes.

    Raises:
        PullCancelled: `cancelled` said so.
        ModelsError: why the pair is refused.
    """
    yield from _run(spec, "check", cancelled)


def _run(spec: PairSpec, task: Task, cancelled: Callable[[], bool]) -> Iterator[Progress]:
    check_endpoint()
    child = DownloadProcess(spec, task)
    try:
        yield from _follow(spec, child, cancelled)
    finally:
        child.end()


def _follow(spec: PairSpec, child: DownloadProcess, cancelled: Callable[[], bool]) -> Iterator[Progress]:
    pace = Pace()
    message: dict[str, Any] = {"phase": "asking"}
    while "ended" not in message:
        if cancelled():
            raise PullCancelled(f"Pulling {spec.name} was cancelled. What came is kept.")
        message = child.next_message(_TICK_SECONDS) or message
        pace.add(message.get("transferred", 0))
        yield _progress(spec, message, pace)
    if "error" in message:
        raise _error(message)
    yield _done(spec, _progress(spec, message, pace))


def _progress(spec: PairSpec, message: dict[str, Any], pace: Pace) -> Progress:
    count = len(spec.sources)
    done, total = message.get("done") or [0] * count, message.get("total") or [0] * count
    parts = zip(spec.sources, done, total, strict=True)
    return Progress(
        phase=message["phase"],
        models=tuple(ModelProgress(source.repo, min(d, t), t) for source, d, t in parts),
        transferred_bytes=message.get("transferred", 0),
        bytes_per_second=pace.rate(),
        stalled_seconds=pace.stalled_seconds() if message["phase"] in ("tokenizers", "weights") else 0.0,
        notes=tuple(message.get("notes", ())),
    )


def _done(spec: PairSpec, last: Progress | None = None) -> Progress:
    if last is None:
        return Progress("done", tuple(ModelProgress(source.repo, 0, 0) for source in spec.sources))
    return Progress("done", last.models, transferred_bytes=last.transferred_bytes, notes=last.notes)


def _error(message: dict[str, Any]) -> ModelsError:
    """The child names one of our own classes."""
    return getattr(models.errors, message["error"])(message["message"])
