"""`report`: everything this machine can say about the pairs on it, to attach to an issue."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.output import Progress, data, json_data, talk

if TYPE_CHECKING:
    from app.compare.report.collect import PairResult

EXAMPLE = "\b\nExamples:\n  mlx-spec report\n  mlx-spec report --quick --out ~/Desktop"


def command(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the two files go.")] = Path(),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and shorter answers: seconds per pair.")
    ] = False,
    json: args.Json = False,
) -> int:
    """Measure the installed pairs and write one report.

    Check, tune and bench of every pair of the catalogue that is here, with heat, power, versions and the
    prediction beside the measurement: one JSON, and one Markdown card to attach to an issue. Neither holds
    your name, folders or tokens. Takes minutes per pair; plug in, close other programs.

    Ctrl+C keeps what was measured. Exit code 1 if a text differs and rounding does not explain it.
    """
    import os

    if not out.is_dir() or not os.access(out, os.W_OK):
        raise BadInput(f"--out {out}: no folder that can be written to. Make it, or name another.")
    report = _measure(quick)
    if _code(report) == exit_codes.INTERRUPTED and not any(pair["parts"] for pair in report["pairs"]):
        talk("Nothing was measured, and nothing was written.")
        return exit_codes.INTERRUPTED
    page = _card(report)
    try:
        if json:
            json_data(report)
        else:
            data(page, end="")
    finally:  # after stdout, so that a full disk costs nothing measured; and where stdout is closed
        _write(out, report, page)
    return _code(report)


def _measure(quick: bool) -> dict[str, Any]:
    import time

    from app.compare.report.collect import collect
    from app.compare.report.conditions import conditions
    from models.pairs.catalogue import all_pairs
    from models.pairs.installed import installed

    names = [pair.name for pair in all_pairs() if installed(pair.spec)]
    talk(f"Measuring {', '.join(names)}. Ctrl+C keeps what was measured.")
    begun, before = time.perf_counter(), conditions()
    line = Progress()
    try:
        results = collect(names, quick=quick, show=line.show)
    finally:
        line.clear()
    return _document(results, quick, time.perf_counter() - begun, before, conditions())


def _document(
    results: "list[PairResult]",
    quick: bool,
    seconds: float,
    before: dict[str, Any],
    after: dict[str, Any],
) -> dict[str, Any]:
    """The JSON document, without anything personal."""
    from dataclasses import asdict

    from app.compare.report.conditions import system
    from app.compare.report.private import without_names
    from app.shell.expected_speed import as_json
    from app.shell.machine import device_name, versions
    from app.shell.runtime import blas, prepare
    from models.pairs.catalogue import find
    from models.speed.machine import this_chip

    prepare()
    short = [f"{result.name} {result.state}" for result in results if result.state != "complete"]
    return without_names(
        {
            "kind": "mlx-spec report",
            "complete": not short,
            "why_partial": ", ".join(short),
            "quick": quick,
            "seconds": seconds,
            "machine": {**system(), "device": device_name(), "blas": blas()},
            "versions": versions(),
            "before": before,
            "after": after,
            "pairs": [
                {**asdict(result), "expected": as_json(find(result.name), this_chip())} for result in results
            ],
        }
    )


def _card(report: dict[str, Any]) -> str:
    from app.compare.report.card import card
    from app.shell.printable import printable

    return printable(card(report))


def _write(out: Path, report: dict[str, Any], page: str) -> None:
    from app.shell.output_file import write_text
    from app.shell.printable import json_text

    name = "mlx-spec-report-" + report["before"]["taken"].replace(":", "").replace("+0000", "Z")
    for suffix, text in (("json", json_text(report) + "\n"), ("md", page)):
        file = out / f"{name}.{suffix}"
        write_text(file, text)
        talk(f"Written: {file}")


def _code(report: dict[str, Any]) -> int:
    states = {pair["state"] for pair in report["pairs"]}
    if states & {"interrupted", "not reached"}:
        return exit_codes.INTERRUPTED
    if "failed" in states:
        return exit_codes.MACHINE_FAILED
    lossless = all(pair["parts"]["check"]["lossless"] for pair in report["pairs"])
    return exit_codes.DONE if lossless else exit_codes.NO
