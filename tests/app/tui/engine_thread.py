"""The scripted engine on a thread of the test: starting a process costs as much as the app itself."""

import os
import subprocess
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from app.engine import client
from app.engine import process as engine_process
from tests.app.scripted_engine import ScriptedSession

NO_PROCESS = "Only a process can crash or be killed: open_chat(process=True)."


class ThreadedClient(client.EngineClient):
    """The real client and pipes, with a thread in place of the engine's process.

    For tests in which the engine neither dies nor ignores its requests.
    """

    def start(self) -> None:
        of_threads = SimpleNamespace(Popen=_EngineThread, DEVNULL=subprocess.DEVNULL)
        with patch.object(client, "subprocess", of_threads):
            super().start()
        assert isinstance(self._process, _EngineThread)


class ThreadedSession(ScriptedSession):
    def crash(self) -> None:
        raise AssertionError(NO_PROCESS)


class _EngineThread(subprocess.Popen[bytes]):
    """The methods of a process that the client uses."""

    def __init__(self, command: Sequence[str], *, pass_fds: tuple[int, int], **_: Any) -> None:
        self.returncode = None
        self.pid = 2**31 - 1  # no process has it
        ends = tuple(map(os.dup, pass_fds))
        self._thread = threading.Thread(target=self._serve, args=ends, daemon=True)
        self._thread.start()

    def _serve(self, request_read: int, event_write: int) -> None:
        with Connection(request_read, writable=False) as requests:
            with Connection(event_write, readable=False) as events:
                engine_process.serve(requests, events, ThreadedSession)  # type: ignore[arg-type]
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
