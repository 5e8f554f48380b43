"""The processes of most tests that ask the Hub, forked from one that has imported what they need.

Importing it takes three times what they do then. The process to fork from is this file, started with the path
of a socket: it is asked with a line of JSON and two ends of pipes, and answers with a pid and an exit status.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from models.hub.download import environment

STAND_IN = Path(__file__).parent / "stand_in"
ROOT = Path(__file__).parents[2]
MODULES = {"models.hub.download_child", "models.hub.search_child"}


@cache
def _server() -> str:
    """The socket of this test run's."""
    path = str(Path(tempfile.mkdtemp()) / "fork")
    env = {
        name: value for name, value in environment().items() if name not in ("HF_ENDPOINT", "HF_HUB_OFFLINE")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.models.forked", path],
        env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    atexit.register(_end, process)
    return path


def _end(process: subprocess.Popen[bytes]) -> None:
    process.communicate()


class Forked:
    """What `models.hub.download` asks of a process; one that imports something else is started as ever."""

    def __new__(cls, command: list[str], **given: Any) -> Any:
        if MODULES & {*command} and str(STAND_IN) in given["env"]["PYTHONPATH"].split(os.pathsep):
            return super().__new__(cls)
        return subprocess.Popen(command, **given)

    def __init__(self, command: list[str], *, env: dict[str, str], **_: Any) -> None:
        theirs, own = os.pipe()
        self.stdin = open(own, "wb", buffering=0)
        own, output = os.pipe()
        self.stdout = open(own, "rb")
        self._wire = socket.socket(socket.AF_UNIX)
        self._wire.connect(_server())
        asked = json.dumps([command[command.index("-m") + 1 :], env]) + "\n"
        socket.send_fds(self._wire, [asked.encode()], [theirs, output])
        os.close(theirs)
        os.close(output)
        self._answers = self._wire.makefile()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._answers.readline())
        return self.returncode

    def kill(self) -> None:
        os.kill(self.pid, 9)

    def __enter__(self) -> "Forked":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stdin.close()
        self.wait()
        for each in (self.stdout, self._answers, self._wire):
            each.close()


def run(command: list[str], *, env: dict[str, str], **given: Any) -> "subprocess.CompletedProcess[bytes]":
    """As `subprocess.run`, for `models.hub.search`."""
    with Forked(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out = process.stdout.read()
    return subprocess.CompletedProcess(command, process.returncode, out, b"")


def _fork(wire: socket.socket, listening: socket.socket) -> None:
    asked, fds, *_ = socket.recv_fds(wire, 1 << 20, 2)
    command, env = json.loads(asked)
    if pid := os.fork():
        for fd in fds:
            os.close(fd)
        wire.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        wire.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        wire.close()
        return
    os.setsid()
    for fd, number in zip((fds[0], fds[1], fds[1]), (0, 1, 2), strict=True):
        os.dup2(fd, number)
    for each in (*fds, wire.fileno(), listening.fileno()):
        os.close(each)
    os.environ.clear()
    os.environ.update(env)
    sys.argv, sys.stdin, sys.stdout = command, open(0), open(1, "w")
    import importlib
    import time

    from huggingface_hub import constants

    importlib.reload(constants)  # They were read from the environment.
    time.sleep = lambda seconds: None
    code = 1
    try:
        importlib.import_module(command[0]).main()
        code = 0
    finally:
        os._exit(code)


def main() -> None:
    import transformers  # noqa: F401
    from huggingface_hub import HfApi, hf_hub_download  # noqa: F401

    from models.hub import download_child, search_child  # noqa: F401

    threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("ready", flush=True)
        while True:
            wire, _ = listening.accept()
            threading.Thread(target=_fork, args=(wire, listening), daemon=True).start()


if __name__ == "__main__":
    main()
