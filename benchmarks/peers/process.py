"""A side in its own process, which answers calls over a pipe and is idle between them."""

import multiprocessing
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from app.shell.errors import MachineFailed


class SideFailed(MachineFailed):
    """A side's process ended, or a call failed in it."""


class SideProcess:
    """Creates `opener(*arguments)` in a new process; `call` runs a method of that object.

    Raises:
        SideFailed: the side cannot be opened; the message has its reason.
    """

    def __init__(self, name: str, opener: Callable[..., Any], *arguments: Any) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, opener, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._receive()

    def call(self, method: str, *arguments: Any) -> Any:
        """The method's result.

        Raises:
            SideFailed: the method raised, or the process ended.
        """
        try:
            self._pipe.send((method, arguments))
        except OSError:
            raise self._gone() from None
        return self._receive()

    def __enter__(self) -> "SideProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self._pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self) -> Any:
        try:
            failed, value = self._pipe.recv()
        except (EOFError, OSError):
            raise self._gone() from None
        if failed:
            raise SideFailed(f"{self.name}: {value}")
        return value

    def _gone(self) -> SideFailed:
        self._process.join(10)
        return SideFailed(f"The process of {self.name} ended (exit code {self._process.exitcode}).")


def _serve(pipe: Connection, opener: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """In the child: serve calls until the parent closes the pipe. Ctrl+C is handled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr  # stdout is for the parent's results
    from app.shell.runtime import prepare

    prepare()
    try:
        side = _replied(pipe, opener, arguments, silent=True)
        while side is not None:
            method, given = pipe.recv()
            _replied(pipe, getattr(side, method), given)
    except (EOFError, OSError):
        pass


def _replied(
    pipe: Connection, call: Callable[..., Any], arguments: tuple[Any, ...], *, silent: bool = False
) -> Any:
    """Send a call's result (None if `silent`) or its error; returns the result."""
    try:
        value = call(*arguments)
    except Exception as error:  # reported by the parent
        pipe.send((True, f"{type(error).__name__}: {error}"))
        return None
    pipe.send((False, None if silent else value))
    return value
