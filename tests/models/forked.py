"""Child processes for most tests of the Hub, forked from a process with all imports done.

The imports take three times as long as the work. The parent of the forks runs this file, with the path of a
socket: a request is a line of JSON and two files, the answer a pid and an exit status.
"""

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import IO, Any

from models.child import QUIET

STAND_IN = Path(__file__).parent / "stand_in"
ROOT = Path(__file__).parents[2]
MODULES = {"models.hub.download_child", "models.hub.search_child"}


@cache
def _server() -> str:
    """The socket of this test run's server."""
    path = str(Path(tempfile.mkdtemp()) / "fork")
    env = {
        name: value for name, value in os.environ.items() if name not in ("HF_ENDPOINT", "HF_HUB_OFFLINE")
    } | QUIET
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.models.forked", path],
        env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    atexit.register(_end, process, Path(path).parent)
    return path


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    process.communicate()
    shutil.rmtree(folder)


class Forked:
    """`Popen` for `models.child`: forks a process of `MODULES`, and starts any other one as usual."""

    def __new__(cls, command: list[str], **given: Any) -> Any:
        if MODULES & {*command} and str(STAND_IN) in given["env"]["PYTHONPATH"].split(os.pathsep):
            return super().__new__(cls)
        return subprocess.Popen(command, **given)

    def __init__(
        self, command: list[str], *, env: dict[str, str], stdout: IO[bytes], pass_fds: list[int], **_: Any
    ) -> None:
        self._wire = socket.socket(socket.AF_UNIX)
        self._wire.connect(_server())
        asked = json.dumps([command[command.index("-m") + 1 :], env]) + "\n"
        socket.send_fds(self._wire, [asked.encode()], [*pass_fds, stdout.fileno()])
        self._answers = self._wire.makefile()
        self.pid = int(self._answers.readline())
        self._code: int | None = None

    def wait(self) -> int:
        if self._code is None:
            self._code = int(self._answers.readline())
            self._answers.close()
            self._wire.close()
        return self._code


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
    wire.close()
    listening.close()
    connection, printed = fds
    for number in (1, 2):
        os.dup2(printed, number)
    os.dup2(connection, own := int(command[-1]))
    for fd in {connection, printed} - {own}:
        os.close(fd)
    os.environ.clear()
    os.environ.update(env)
    os.environ.update(SSL_CERT_FILE="", SSL_CERT_DIR=str(STAND_IN))  # of this Hub no certificate is read
    sys.argv, sys.stdin, sys.stdout = command, open(0), open(1, "w")
    import importlib
    import time

    from huggingface_hub import constants

    importlib.reload(constants)  # they depend on the environment
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
    from models.pairs.catalogue import fitting_draft
    from models.pairs.pair import Source

    fitting_draft(Source("any/model"))  # the catalogue is read
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
