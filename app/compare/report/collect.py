"""Runs the pairs of a report, each in its own process, and keeps whatever arrived when it is interrupted.

Such a process prints lines of JSON: `["step", TEXT]`, `["part", NAME, VALUE]` or `["failed", WHY]`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

COMMAND = (sys.executable, "-m", "app.compare.report.one_pair")
END_SECONDS = 5.0


@dataclass(slots=True)
class PairResult:
    name: str
    state: Literal["complete", "interrupted", "failed", "not reached"] = "not reached"
    why: str = ""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)


def collect(
    names: Sequence[str], *, quick: bool, show: Callable[[str], None], command: Sequence[str] = COMMAND
) -> list[PairResult]:
    """Measure the pairs in turn, until Ctrl+C. Pairs that were not reached are among the results."""
    results = [PairResult(name) for name in names]
    try:
        for result in results:
            _measure(result, [*command, result.name, *(["quick"] if quick else [])], show)
    except KeyboardInterrupt:
        pass
    return results


def _measure(result: PairResult, command: Sequence[str], show: Callable[[str], None]) -> None:
    result.state = "interrupted"
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl+C in the terminal is for us; we end the process
    )
    try:
        _receive(result, process, show)
        code = _wait(process)
    finally:
        process.terminate()
        _wait(process)
    if code == -9:
        died = "The system ended the process, most often because memory ran out. Close other programs."
    else:
        died = f"The process ended with code {code} before it was done." if code else ""
    result.why = result.why or died
    result.state = "failed" if result.why else "complete"


def _receive(result: PairResult, process: "subprocess.Popen[bytes]", show: Callable[[str], None]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                return  # it ended while it wrote
            match json.loads(line):
                case "step", text:
                    show(f"{result.name}: {text}")
                case "part", name, value:  # a later part takes the place of one with the same name
                    result.parts[name] = value
                case "failed", why:
                    result.why = why


def _wait(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
