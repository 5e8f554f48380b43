"""A process of our own that does one thing, and sends what comes of it as pickled values.

It can be killed at any moment, and is once its parent listens no more or is gone. What it or a library prints
does not reach the terminal.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

TICK_SECONDS = 0.25

QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""What keeps the libraries quiet."""


class ChildDied(Exception):
    """It ended before it was done; the message says how, with the last line that was printed."""

    def __init__(self, code: int, printed: str) -> None:
        ending = f"signal {-code}" if code < 0 else f"exit status {code}"
        super().__init__(f"{ending}: {printed or 'no reason given'}")
        self.code = code


def module(name: str) -> Sequence[str]:
    """The command that runs one of our modules, whatever the working folder holds."""
    return sys.executable, "-P", "-m", name


@contextmanager
def ask_child(command: Sequence[str], *request: Any) -> Iterator[Iterator[Any]]:
    """Start a command that calls `asked`, and end it when this is left.

    Gives an iterator of what it sends, with None several times a second meanwhile, which raises ChildDied if
    it ends early, and an exception that it sends.
    """
    with closing(_messages(command, request)) as messages:
        yield messages


def _messages(command: Sequence[str], request: Any) -> Generator[Any, None, None]:
    ours, its = Pipe()
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    with ours, tempfile.TemporaryFile() as printed:
        with its:
            process = subprocess.Popen(
                [*command, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                # Plain HTTP goes on where a transfer was cut off; Xet does not.
                env=os.environ | QUIET | {"HF_HUB_DISABLE_XET": "1", "PYTHONPATH": path},
                pass_fds=[its.fileno()],
                start_new_session=True,  # a Ctrl+C in the terminal is for the parent
            )
        try:
            ours.send(request)
            while True:
                message = ours.recv() if ours.poll(TICK_SECONDS) else None
                if isinstance(message, Exception):
                    raise message
                yield message
        except (EOFError, ConnectionError):
            if code := process.wait():
                printed.seek(0)
                lines = printed.read().decode(errors="replace").strip().splitlines()
                raise ChildDied(code, lines[-1] if lines else "") from None
        finally:
            with suppress(ProcessLookupError, PermissionError):  # it has ended; a Mac refuses for a zombie
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def asked() -> tuple[Any, Callable[[object], None]]:
    """In the child: the request, and what sends a value."""
    connection = Connection(int(sys.argv[-1]))
    request = connection.recv()
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    return request, connection.send


def _end_with_parent(connection: Connection) -> None:
    with suppress(EOFError, OSError):
        connection.recv()
    os.killpg(0, signal.SIGKILL)  # and what the child has started
