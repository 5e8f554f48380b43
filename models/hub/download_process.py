"""The parent's side of the download process: its messages, and its end."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any, Literal

from models.errors import DownloadFailed
from models.files import parse_json
from models.hub.incomplete import incomplete_files, sweep
from models.pairs.pair import PairSpec

Task = Literal["pull", "check"]
"""What the process does: fetch everything, or only the small files to see whether they fit."""


class DownloadProcess:
    """The download process, its messages, and its end."""

    def __init__(self, spec: PairSpec, task: Task) -> None:
        self._repos = [source.repo for source in spec.sources if not source.is_folder]
        self._before = incomplete_files(self._repos)
        self._talk = tempfile.TemporaryFile()
        self._printed = ""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "models.hub.download_child", task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._talk,
            env=_environment(),
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        sources = [{"repo": source.repo, "revision": source.revision} for source in spec.sources]
        self._process.stdin.write(json.dumps({"sources": sources}).encode() + b"\n")
        self._process.stdin.flush()
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True)
        self._reader.start()

    def next_message(self, seconds: float) -> dict[str, Any] | None:
        """What the child says next; None if it says nothing for so long, or no message.

        Raises:
            DownloadFailed: the child died without a word.
        """
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if not line:
            raise DownloadFailed(
                f"The download process ended unexpectedly ({self._last_words()}). Pull again."
            )
        try:
            return parse_json(line)
        except ValueError:  # A library's import may print.
            self._printed = line.decode(errors="replace").strip()
            return None

    def end(self) -> None:
        """Stop the process if it runs, then delete its unfinished files; partial ones stay for the next.

        It is halted before its files are listed: what is unfinished then and was not there at the start
        is its own.
        """
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)
        own = incomplete_files(self._repos) - self._before
        self._process.kill()
        self._process.wait()
        self._reader.join()
        sweep(own)
        for pipe in (self._process.stdin, self._process.stdout, self._talk):
            assert pipe
            pipe.close()

    def _last_words(self) -> str:
        code = self._process.wait()
        self._talk.seek(0)
        said = self._talk.read().decode(errors="replace").strip().splitlines()
        ending = f"signal {-code}" if code < 0 else f"exit status {code}"
        words = said[-1] if said else self._printed
        return f"{ending}: {words}" if words else ending


def _read(pipe: IO[bytes], lines: "queue.Queue[bytes]") -> None:
    """Every line, then an empty one at the end."""
    for line in pipe:
        lines.put(line)
    lines.put(b"")


def _environment() -> dict[str, str]:
    """Quiet, without telemetry, and with plain HTTP unless asked otherwise.

    Xet transfers report coarse numbers and break behind mirrors.
    """
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    quiet = {
        "PYTHONPATH": path,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
    }
    return {"HF_HUB_DISABLE_XET": "1"} | dict(os.environ) | quiet
