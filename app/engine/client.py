"""The parent's side of the engine process: start it, send requests, collect events, notice its death.

The process does not touch the terminal: it has no stdin, and all its output goes to a log file. Nothing
here imports MLX.
"""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

from app.engine.protocol import Died, EngineEvent, Request
from models.child import environment, module

COMMAND = module("app.engine.process")
LOG_LIMIT_BYTES = 1_000_000
QUIT_SECONDS = 2.0

_OF_MEMORY = {signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS}
"""Signals that end a process out of memory: from the system, or in a library whose allocation failed."""


class EngineClient:
    """One engine process at a time. `start` may be called again after it died."""

    is_server = False

    def __init__(
        self, log_path: Path, command: Sequence[str] = COMMAND, arrived: Callable[[], object] = lambda: None
    ) -> None:
        """`arrived` is called from another thread whenever there is something to `poll`."""
        self.log_path = log_path
        self._arrived = arrived
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._unsent: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        self._writer: threading.Thread | None = None
        self._events: queue.SimpleQueue[EngineEvent] = queue.SimpleQueue()
        self._closing = False

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def returncode(self) -> int | None:
        return self._process.poll() if self._process else None

    def start(self) -> None:
        """Start a process, after the `Died` of an earlier one; OSError if it cannot be started."""
        if self._reader is not None:
            self._reader.join(QUIT_SECONDS)
        its_requests, requests = Pipe(duplex=False)
        events, its_events = Pipe(duplex=False)
        ends = its_requests.fileno(), its_events.fileno()
        with its_requests, its_events, self._open_log() as log:
            self._process = subprocess.Popen(
                [*self._command, *map(str, ends)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
                pass_fds=ends,
                start_new_session=True,  # Ctrl+C in the terminal must reach the screen only
            )
        self._unsent.put(None)  # of an earlier process
        self._unsent = queue.SimpleQueue()
        self._writer = threading.Thread(target=_write, args=(self._unsent, requests), daemon=True)
        self._writer.start()
        self._reader = threading.Thread(target=self._read, args=(self._process, events), daemon=True)
        self._reader.start()

    def send(self, request: Request) -> None:
        """Send a request. Never waits. A dead process loses it; `Died` is among the events then."""
        self._unsent.put(request)

    def poll(self) -> list[EngineEvent]:
        """Everything that arrived since the last call, in order. Never waits."""
        return [self._events.get_nowait() for _ in range(self._events.qsize())]

    def close(self) -> None:
        """End the process: ask, then insist."""
        self._closing = True
        if self._process is None or self._reader is None or self._writer is None:
            return
        self._unsent.put(None)
        try:
            self._process.wait(QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in (self._reader, self._writer):
            thread.join(QUIT_SECONDS)

    def _read(self, process: subprocess.Popen[bytes], events: Connection) -> None:
        with events:
            while True:
                try:
                    event = events.recv()
                except Exception as error:
                    if not isinstance(error, EOFError | OSError):
                        process.terminate()  # what it sent cannot be read
                    break
                self._events.put(event)
                self._arrived()
        returncode = process.wait()
        if not self._closing:
            self._events.put(Died(returncode))
            self._arrived()

    def _open_log(self) -> BinaryIO:
        """The log file, or /dev/null if it cannot be written: no reason not to answer."""
        try:
            self.log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.log_path.exists() and self.log_path.stat().st_size > LOG_LIMIT_BYTES:
                self.log_path.unlink()
            return open(os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
        except OSError:
            return open(os.devnull, "ab")


def _write(unsent: "queue.SimpleQueue[Request | None]", requests: Connection) -> None:
    """Send requests until None; on a thread, as a process that reads nothing fills the pipe."""
    with requests, suppress(OSError):
        while (request := unsent.get()) is not None:
            requests.send(request)


def describe_death(event: Died) -> str:
    if event.returncode >= 0:
        return f"The engine process ended with exit code {event.returncode} (engine.log; in the chat: /log)."
    number = -event.returncode
    name = next((one.name for one in signal.Signals if one == number), f"signal {number}")
    hint = " It may lack memory: choose a smaller pair or close other programs."
    return f"The engine process was ended by {name}.{hint if number in _OF_MEMORY else ''}"
