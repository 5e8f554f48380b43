"""`tune`: measure what rounds cost here, and which draft lengths are best."""

from app.commands import arguments as args
from app.commands import loading
from app.shell import exit_codes
from app.shell.machine import circumstances
from app.shell.output import data, json_data
from app.shell.tables import print_table

EXAMPLE = "\b\nExamples:\n  mlx-spec tune\n  mlx-spec tune qwen3-8b --json"


@args.with_flags()
def command(
    *,
    pair: args.PairArguments,
    json: args.Json = False,
) -> int:
    """Measure what rounds cost on this machine.

    Times rounds of every draft length in a short and a long context, and saves the result. This happens by
    itself at a pair's first use; run it again if the machine was busy then. The new costs replace those
    that were learned. Ctrl+C stops the measuring, and the costs stay as they were.
    """
    from app.compare.tune import as_json, tables

    loaded = loading.loaded_pair(pair.chosen())
    calibration, complete = loading.measured(loaded)
    if json:
        facts = {"pair": loaded.spec.as_json(), **circumstances()}
        json_data({"complete": complete, **as_json(calibration), **facts})
    else:
        for part in tables(calibration):
            data(part) if isinstance(part, str) else print_table(part)
    return exit_codes.DONE if complete else exit_codes.INTERRUPTED
