"""Runs the pairs of a report, each in its own process, and keeps whatever arrived when it is interrupted."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Literal

from app.compare.report.messages import Done, Failed, Message, Part, Step

COMMAND = (sys.executable, "-m", "app.compare.report.one_pair")
LOOK_SECONDS = 0.2
"""How often Ctrl+C is looked for while nothing arrives."""
END_SECONDS = 5.0

State = Literal["complete", "interrupted", "failed", "not reached"]


@dataclass(slots=True)
class PairResult:
    """What is known of one pair."""

    name: str
    state: State = "not reached"
    why: str = ""
    """Of a failure, in words."""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)


def collect(
    names: Sequence[str],
    *,
    quick: bool,
    stop: Callable[[], bool],
    show: Callable[[str], None],
    command: Sequence[str] = COMMAND,
) -> list[PairResult]:
    """Measure the pairs in turn until `stop` says so. Pairs that were not reached are among the results."""
    results = [PairResult(name) for name in names]
    for result in results:
        if stop():
            break
        _measure(result, quick, stop, show, command)
    return results


def _measure(
    result: PairResult,
    quick: bool,
    stop: Callable[[], bool],
    show: Callable[[str], None],
    command: Sequence[str],
) -> None:
    read, write = os.pipe()
    messages = Connection(read, writable=False)
    try:
        process = subprocess.Popen(
            [*command, result.name, str(write), *(["quick"] if quick else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write,),
            # A Ctrl+C in the terminal is for us; we end the process.
            start_new_session=True,
        )
    finally:
        os.close(write)
    try:
        with messages:
            result.state = _receive(result, messages, stop, show)
    finally:
        # Neither done nor gone: stopped, by the question or by an exception.
        if result.state in ("interrupted", "not reached"):
            process.terminate()
        code = _wait(process)
    if result.state == "failed" and not result.why:
        result.why = _how_it_ended(code)


def _receive(
    result: PairResult, messages: Connection, stop: Callable[[], bool], show: Callable[[str], None]
) -> State:
    """Until the process is done, fails, is gone, or somebody wants to stop."""
    while not stop():
        if not messages.poll(LOOK_SECONDS):
            continue
        try:
            message: Message = messages.recv()
        except (EOFError, OSError):
            return "failed"
        match message:
            case Step(text):
                show(f"{result.name}: {text}")
            case Part(name, value):
                result.parts[name] = value
            case Failed(why):
                result.why = why
                return "failed"
            case Done():
                return "complete"
    return "interrupted"


def _wait(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _how_it_ended(code: int) -> str:
    if code == -9:
        return "The system ended the process, most often because memory ran out. Close other programs."
    return f"The process ended with code {code} before it was done."
