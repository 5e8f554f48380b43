"""Pulling a pair from the Hub: a child process downloads, this side reports, cancels and ends it.

A child, because a running transfer can only be stopped for sure by ending its process.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import models.errors
from models.errors import MachineTrouble, PullCancelled
from models.hub.endpoint import check_endpoint
from models.hub.progress import ModelProgress, Pace, Progress
from models.pairs.installed import installed
from models.pairs.pair import PairSpec

_TICK_SECONDS = 0.25


def pull(spec: PairSpec, *, cancelled: Callable[[], bool] = lambda: False) -> Generator[Progress, None, None]:
    """Download what is missing of a pair; the last value has the phase `done`.

    Yields several times a second, and asks `cancelled` as often: PullCancelled. Closing the generator cancels
    too. What came stays, and the next pull goes on from there.
    """
    if installed(spec):
        yield Progress("done", tuple(ModelProgress(source.repo, 0, 0) for source in spec.sources))
    else:
        yield from _run(spec, "pull", cancelled)


def check(spec: PairSpec, *, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
    """Fetch the small files of a pair, and see whether its models can run and belong together.

    The last value has the phase `done`, the bytes a pull would take as totals, and harmless notes.
    """
    yield from _run(spec, "check", cancelled)


def _run(spec: PairSpec, task: str, cancelled: Callable[[], bool]) -> Iterator[Progress]:
    check_endpoint()
    sources = json.dumps([asdict(source) for source in spec.sources])
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "models.hub.download_child", task, sources],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        start_new_session=True,
    ) as child:
        lines: queue.Queue[bytes] = queue.Queue()
        reader = threading.Thread(target=_read, args=(child.stdout, lines), daemon=True)
        reader.start()
        try:
            yield from _follow(spec, lines, cancelled)
        except EOFError as error:
            code = child.wait()
            ending = f"signal {-code}" if code < 0 else f"exit status {code}"
            raise MachineTrouble(
                f"The download process ended unexpectedly ({ending}: {error}). Pull again."
            ) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            reader.join()


def _read(pipe: IO[bytes], lines: "queue.Queue[bytes]") -> None:
    """Every line, then an empty one at the end."""
    for line in pipe:
        lines.put(line)
    lines.put(b"")


def _follow(spec: PairSpec, lines: "queue.Queue[bytes]", cancelled: Callable[[], bool]) -> Iterator[Progress]:
    """Raises EOFError with the last other line, where the child ends before its last message."""
    pace, printed = Pace(), "no reason given"
    message: dict[str, Any] = {"phase": "asking"}
    while "ended" not in message:
        if cancelled():
            raise PullCancelled(f"Pulling {spec.name} was cancelled. What came is kept.")
        with suppress(queue.Empty):
            line = lines.get(timeout=_TICK_SECONDS)
            if not line:
                raise EOFError(printed)
            if not line.startswith(b'{"phase"'):  # A library has printed.
                printed = line.decode(errors="replace").strip() or printed
                continue
            message = json.loads(line)
        pace.add(message.get("transferred", 0))
        yield _progress(spec, message, pace)
    if "error" in message:
        raise getattr(models.errors, message["error"])(message["message"])
    yield _progress(spec, message | {"phase": "done"}, pace)


def _progress(spec: PairSpec, message: dict[str, Any], pace: Pace) -> Progress:
    phase, zeros = message["phase"], [0] * len(spec.sources)
    parts = zip(spec.sources, message.get("done", zeros), message.get("total", zeros), strict=True)
    return Progress(
        phase=phase,
        models=tuple(ModelProgress(source.repo, done, total) for source, done, total in parts),
        transferred_bytes=message.get("transferred", 0),
        bytes_per_second=pace.rate() if phase != "done" else 0.0,
        stalled_seconds=pace.stalled_seconds() if phase in ("tokenizers", "weights") else 0.0,
        notes=tuple(message.get("notes", ())),
    )


def environment() -> dict[str, str]:
    """Quiet, without telemetry, and with plain HTTP, which goes on where a transfer was cut off."""
    root = str(Path(__file__).parents[2])
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
    }
