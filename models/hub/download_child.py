"""The download process: `python -m models.hub.download_child pull` (or `check`), started by `models.hub`.

Reads one JSON line (the models) and writes JSON lines (numbers, then `ended`). Being a process of
its own it can be killed at any moment; when its parent dies, its standard input ends and it leaves too.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from huggingface_hub import constants

from models.errors import ModelsError
from models.hub.hub_job import Job
from models.hub.incomplete import incomplete_files, sweep, sweep_stale
from models.pairs.pair import Source

_TICK_SECONDS = 0.2
_STEP_BYTES = 1 << 20


def main() -> None:
    """Fetch, report, and end without waiting for transfers that are still running."""
    answers, sys.stdout = sys.stdout, sys.stderr
    constants.DOWNLOAD_CHUNK_SIZE = _STEP_BYTES
    asked = json.loads(sys.stdin.readline())
    job = Job(tuple(Source(**source) for source in asked["sources"]))
    repos = [source.repo for source in job.sources if not source.is_folder]
    sweep_stale(incomplete_files(repos))
    before = incomplete_files(repos)
    threading.Thread(target=_leave_with_parent, args=(repos, before), daemon=True).start()
    _report_until_done(job, {"pull": job.run, "check": job.check}[sys.argv[1]], answers)
    sweep(incomplete_files(repos) - before)
    os._exit(0)


def _report_until_done(job: Job, task: Callable[[], None], answers: TextIO) -> None:
    ended: dict[str, Any] = {}
    work = threading.Thread(target=_work, args=(task, ended), daemon=True)
    work.start()
    while work.is_alive():
        work.join(_TICK_SECONDS)
        _write(answers, _numbers(job))
    _write(answers, _numbers(job) | {"ended": True} | ended)


def _work(task: Callable[[], None], ended: dict[str, Any]) -> None:
    try:
        task()
    except ModelsError as error:
        # The parent has the classes of that module alone; others are narrower than one of them.
        known = next(kind for kind in type(error).__mro__ if kind.__module__ == ModelsError.__module__)
        ended |= {"error": known.__name__, "message": str(error)}
    except Exception as error:
        ended |= {
            "error": "MachineTrouble",
            "message": f"Downloading failed: {type(error).__name__}: {error}",
        }


def _numbers(job: Job) -> dict[str, Any]:
    return {
        "phase": job.phase,
        "done": list(job.done),
        "total": list(job.total),
        "transferred": job.transferred,
        "notes": list(job.notes),
    }


def _write(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _leave_with_parent(repos: list[str], before: frozenset[Any]) -> None:
    sys.stdin.read()
    sweep(incomplete_files(repos) - before)
    os._exit(1)


if __name__ == "__main__":
    main()
