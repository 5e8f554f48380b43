"""`doctor`: what is wrong on this machine, and how to mend it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.output import data, json_data
from app.shell.printable import one_line

if TYPE_CHECKING:
    from app.shell.diagnosis import Finding

EXAMPLE = "\b\nExamples:\n  mlx-spec doctor\n  mlx-spec doctor --json"

SIGNS = {"good": " ", "note": "!", "bad": "x"}


def command(json: args.Json = False) -> int:
    """Find what is wrong on this machine.

    Looks at device, memory, versions, network and folders, and says how to mend what is wrong.
    Exit code 1 if something will not work.
    """
    from app.shell.diagnosis import diagnose

    findings = list(diagnose())
    wrong, notes = (sum(finding.state == state for finding in findings) for state in ("bad", "note"))
    if json:
        json_data({"ok": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
        data(f"{wrong} wrong (x), {notes} worth knowing (!)." if wrong or notes else "Everything works.")
    return exit_codes.NO if wrong else exit_codes.DONE


def _print(findings: "list[Finding]") -> None:
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        data(f"{SIGNS[finding.state]} {finding.name:<{width}}  {one_line(finding.value)}")
        if finding.mend:
            data(f"  {'':<{width}}  {finding.mend}")
