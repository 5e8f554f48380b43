"""Measures a report's pairs, each in its own process; on Ctrl+C, the results so far are kept.

Each process sends `("step", text)`, `("part", name, value)` or `("failed", why)`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from signal import SIGKILL
from typing import Any, Literal

from models.child import ChildDied, ask_child, module

COMMAND = module("app.compare.report.one_pair")


@dataclass(slots=True)
class PairResult:
    name: str
    state: Literal["complete", "interrupted", "failed", "not reached"] = "not reached"
    why: str = ""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)


def collect(
    names: Sequence[str], *, quick: bool, show: Callable[[str], None], command: Sequence[str] = COMMAND
) -> list[PairResult]:
    """Measure the pairs in turn, until Ctrl+C. The results include pairs that were not reached."""
    results = [PairResult(name) for name in names]
    try:
        for result in results:
            _measure(result, command, quick, show)
    except KeyboardInterrupt:
        pass
    return results


def _measure(result: PairResult, command: Sequence[str], quick: bool, show: Callable[[str], None]) -> None:
    result.state = "interrupted"
    try:
        with ask_child(command, result.name, quick) as messages:
            for message in messages:
                match message:
                    case "step", text:
                        show(f"{result.name}: {text}")
                    case "part", name, value:  # a later part replaces an earlier one of the same name
                        result.parts[name] = value
                    case "failed", why:
                        result.why = why
    except ChildDied as error:
        died = f"The process ended before it was done ({error})."
        if error.code == -SIGKILL:
            died = "The system ended the process, most often because memory ran out. Close other programs."
        result.why = result.why or died
    result.state = "failed" if result.why else "complete"
