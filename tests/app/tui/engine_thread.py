"""The scripted engine on a thread of the test: starting a process costs as much as the app itself."""

import os
import subprocess
import threading
from multiprocessing.connection import Connection
from typing import BinaryIO

from app.engine import process as engine_process
from app.engine.client import EngineClient
from tests.app.scripted_engine import ScriptedSession

NO_PROCESS = "Only a process can crash or be killed: open_chat(process=True)."


class ThreadedClient(EngineClient):
    """The client as it is, pipes included; only what is at their other end is no process.

    For tests in which the engine neither dies nor is deaf to its requests.
    """

    def _launch(self, ends: tuple[int, int], log: BinaryIO) -> subprocess.Popen[bytes]:
        request_read, event_write = map(os.dup, ends)
        return _EngineThread(request_read, event_write)


class _ThreadedSession(ScriptedSession):
    def crash(self) -> None:
        raise AssertionError(NO_PROCESS)


class _EngineThread(subprocess.Popen[bytes]):
    """What the client asks of its process."""

    def __init__(self, request_read: int, event_write: int) -> None:
        self.returncode = None
        self.pid = 2**31 - 1  # no process has it
        self._thread = threading.Thread(target=self._serve, args=(request_read, event_write), daemon=True)
        self._thread.start()

    def _serve(self, request_read: int, event_write: int) -> None:
        with Connection(request_read, writable=False) as requests:
            with Connection(event_write, readable=False) as events:
                engine_process.serve(requests, events, _ThreadedSession)  # type: ignore[arg-type]
                self.returncode = 0

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._thread.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("the engine's thread", timeout or 0.0)
        return self.returncode

    def kill(self) -> None:
        raise AssertionError(NO_PROCESS)
