"""`tune`: measure what rounds cost here, and which draft lengths are best."""

from app.commands import arguments as args
from app.shell.machine import circumstances
from app.shell.output import data, json_data
from app.shell.tables import print_table

EXAMPLE = "\b\nExamples:\n  mlx-spec tune\n  mlx-spec tune qwen3-8b --json"


@args.with_flags()
def command(
    *,
    pair: args.PairArguments,
    json: args.Json = False,
) -> None:
    """Measure what rounds cost on this machine.

    Times rounds of every draft length in a short and a long context, and saves the result. This happens by
    itself at a pair's first use; run it again if the machine was busy then. It replaces what the pair has
    learned. Ctrl+C ends the measuring early.
    """
    from app.compare.tune import as_json, tables

    loaded = args.loaded_pair(pair.chosen())
    calibration = args.measured(loaded)
    if json:
        json_data({**as_json(calibration), "pair": loaded.spec.as_json(), **circumstances()})
        return
    for part in tables(calibration):
        data(part) if isinstance(part, str) else print_table(part)
