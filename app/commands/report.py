"""`report`: measurements of all installed pairs on this machine, to attach to an issue."""

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands import arguments as args
from app.shell import exit_codes, runtime
from app.shell.errors import BadInput
from app.shell.expected_speed import as_json
from app.shell.machine import circumstances
from app.shell.named_file import write_text
from app.shell.output import Progress, data, talk
from app.shell.printable import json_text, printable
from models.pairs.catalogue import all_pairs, find
from models.pairs.installed import installed
from models.speed import machine

EXAMPLE = "\b\nExamples:\n  mlx-spec report\n  mlx-spec report --quick --out ~/Desktop"


def command(
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Folder for the two files.")] = ".",
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and shorter answers: seconds per pair.")
    ] = False,
    json: args.Json = False,
) -> int:
    """Measure the installed pairs and write one report.

    Runs check, tune and bench for every installed pair of the catalogue and adds heat, power, versions and
    the predicted speeds: one JSON, and one Markdown card to attach to an issue. Neither holds your name,
    folders or tokens. Takes minutes per pair; plug in, close other programs.

    Ctrl+C keeps what was measured. Exit code 1 if a text differs and rounding does not explain it.
    """
    from app.compare.report.card import card

    if not os.path.isdir(out) or not os.access(out, os.W_OK):
        raise BadInput(f"--out is {out or 'empty'}, no writable folder. Make it, or name another.")
    report = _measure(quick)
    code = _code(report)
    measured = any(pair["parts"].keys() - {"loaded"} for pair in report["pairs"])
    if code == exit_codes.INTERRUPTED and not measured:
        talk("Nothing was measured, and nothing was written.")
        return code
    pages = {"json": json_text(report), "md": printable(card(report))}
    try:
        data(pages["json" if json else "md"])
    finally:  # after stdout, so that a full disk loses no result; and even if stdout is closed
        name = "mlx-spec-report-" + report["before"]["taken"].replace(":", "").replace("+0000", "Z")
        for suffix, page in pages.items():
            file = Path(out, f"{name}.{suffix}")
            write_text(file, page + "\n")
            talk(f"Written: {file}")
    return code


def _measure(quick: bool) -> dict[str, Any]:
    """The JSON document, without anything personal."""
    from app.compare.report.collect import collect
    from app.compare.report.conditions import conditions, system
    from app.compare.report.private import without_names

    names = [pair.name for pair in all_pairs() if installed(pair.spec)]
    talk(f"Measuring {', '.join(names)}. Ctrl+C keeps what was measured.")
    begun, before = time.perf_counter(), conditions()
    with Progress() as line:
        results = collect(names, quick=quick, show=line.show)
    seconds, after = time.perf_counter() - begun, conditions()
    runtime.prepare()
    short = [f"{result.name} {result.state}" for result in results if result.state != "complete"]
    chip, about = machine.this_chip(), circumstances()
    return without_names(
        {
            "kind": "mlx-spec report",
            "complete": not short,
            "why_partial": ", ".join(short),
            "quick": quick,
            "seconds": seconds,
            "versions": about.pop("versions"),
            "machine": {**system(), **about},
            "before": before,
            "after": after,
            "pairs": [{**asdict(one), "expected": as_json(find(one.name), chip)} for one in results],
        }
    )


def _code(report: dict[str, Any]) -> int:
    states = {pair["state"] for pair in report["pairs"]}
    if states & {"interrupted", "not reached"}:
        return exit_codes.INTERRUPTED
    if "failed" in states:
        return exit_codes.MACHINE_FAILED
    lossless = all(pair["parts"]["check"]["lossless"] for pair in report["pairs"])
    return exit_codes.DONE if lossless else exit_codes.NO
