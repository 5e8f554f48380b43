"""`tune`: measure what rounds cost here, and what follows for the draft length."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.output import data, json_data

if TYPE_CHECKING:
    from mlx_spec.policy.calibrate import Calibration
    from models.load.engine import LoadedPair

EXAMPLE = "\b\nExamples:\n  mlx-spec tune\n  mlx-spec tune qwen3-8b --plot costs.svg"


def command(
    pair: args.PairName = None,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
    draft_head: args.DraftHead = None,
    json: args.Json = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png|svg", help="Draw a picture.")] = None,
) -> int:
    """Measure what rounds cost on this machine.

    Rounds of every draft length, in a short and a long context; what they cost is kept. Happens by itself
    at a pair's first use; run it again on a quiet machine if that one was busy. What a kept pair learned
    is begun anew. Ctrl+C ends the measuring early.
    """
    from app.compare.export import check_file
    from app.compare.plots import SUFFIXES

    if plot is not None:
        check_file("--plot", plot, SUFFIXES)
    loaded = args.loaded_pair(args.chosen_pair(pair, target, draft, revision, draft_head))
    calibration = args.measured(loaded)
    try:
        _report(loaded, calibration, json=json)
    finally:  # after stdout, so that a full disk costs nothing measured; and where stdout is closed
        if plot is not None:
            from app.compare.tune import draw
            from app.shell.machine import device_name

            draw(plot, calibration, f"{loaded.spec.name}: what a round costs\n{device_name()}")
    return exit_codes.DONE


def _report(pair: "LoadedPair", calibration: "Calibration", *, json: bool) -> None:
    from app.compare.tune import as_json, tables
    from app.shell.machine import circumstances
    from app.shell.tables import print_table

    if json:
        json_data({**as_json(calibration, pair.shape), "pair": pair.spec.name, **circumstances()})
        return
    for part in tables(calibration, pair.shape):
        data(part) if isinstance(part, str) else print_table(part)
