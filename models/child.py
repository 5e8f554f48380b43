"""A child process that does one task and sends its results to the parent as pickled values.

It may be killed at any moment, and is killed when its parent stops reading or ends. Its output, and that of
its libraries, does not reach the terminal.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
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
"""Environment variables that silence the libraries."""


class ChildDied(Exception):
    """The child ended early; the message has its exit status and the last line it printed."""

    def __init__(self, code: int, printed: str) -> None:
        ending = f"signal {-code}" if code < 0 else f"exit status {code}"
        super().__init__(f"{ending}: {printed or 'no reason given'}")
        self.code = code


def module(name: str) -> Sequence[str]:
    """The command that runs one of our modules, whatever the working folder holds.

    Warnings of Python's parser stay out of logs: mlx-lm gives it what a model wrote, and they quote it.
    """
    return sys.executable, "-P", "-W", "ignore::SyntaxWarning", "-m", name


def environment() -> dict[str, str]:
    """The environment in which `module` finds our modules, installed or not."""
    root = str(Path(__file__).parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def ask_child(command: Sequence[str], *request: Any) -> closing[Generator[Any, None, None]]:
    """Start a command that calls `asked`, and kill it on exit from the context.

    It gives an iterator over the values it sends, and None several times a second in between. The iterator
    raises ChildDied if the child ends early, and any exception that the child sends.
    """
    return closing(_messages(command, request))


def _messages(command: Sequence[str], request: Any) -> Generator[Any, None, None]:
    ours, its = Pipe()
    with ours, tempfile.TemporaryFile() as printed:
        with its:
            process = subprocess.Popen(
                [*command, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                # Plain HTTP resumes an interrupted transfer; Xet does not.
                env=environment() | QUIET | {"HF_HUB_DISABLE_XET": "1"},
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
            with suppress(ProcessLookupError, PermissionError):  # it has ended; macOS refuses for a zombie
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def asked() -> tuple[Any, Callable[[object], None]]:
    """In the child: the request, and a function that sends a value to the parent."""
    connection = Connection(int(sys.argv[-1]))
    request = connection.recv()
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    return request, connection.send


def _end_with_parent(connection: Connection) -> None:
    with suppress(EOFError, OSError):
        connection.recv()
    os.killpg(0, signal.SIGKILL)  # the child's own children too
