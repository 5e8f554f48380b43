"""`bench`: does drafting pay here?"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.counted import counted
from app.shell.errors import BadInput
from app.shell.output import Progress, data, json_data, talk
from mlx_spec.types import Options

if TYPE_CHECKING:
    from app.compare.bench.measured import Measured
    from app.compare.bench.prompts import BenchPrompt
    from models.load.engine import LoadedPair

FEWEST_TOKENS = 3
"""The prompt's pass gives the first token, and every round one of its own: only a third can be drafted."""

EXAMPLE = "\b\nExamples:\n  mlx-spec bench\n  mlx-spec bench --temperature 0.8 --repeats 5 --plot bench.svg"


@args.takes_options(
    "max_tokens", "temperature", "seed", "draft_length", "drafter", "verify", max_tokens=128, seed=0
)
def command(
    pair: args.PairName = None,
    prompts: args.Prompts = None,
    raw: args.Raw = False,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Runs per prompt and way.")] = 3,
    options: Options = args.FROM_FLAGS,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
    draft_head: args.DraftHead = None,
    json: args.Json = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one line per prompt.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png|svg", help="Draw a picture.")] = None,
) -> int:
    """Measure drafting against plain decoding.

    The same prompts both ways, alternating, after a warm-up; the texts are compared too.
    Ctrl+C keeps the prompts that are done. Exit code 1 if drafting was slower, or if a text differs and
    rounding does not explain it.
    """
    from app.compare.bench.plot import check_plot
    from app.compare.bench.prompts import DEFAULT_PROMPTS, read_prompts
    from app.shell.output_file import check_place

    if options.max_tokens < FEWEST_TOKENS:
        raise BadInput(
            f"--max-tokens is {options.max_tokens}; an answer's first two tokens are not drafted. "
            f"Give at least {FEWEST_TOKENS}."
        )
    if plot is not None:
        check_plot(plot)
    if csv is not None:
        check_place("--csv", csv)
    source = prompts or DEFAULT_PROMPTS
    wanted = read_prompts(source)
    loaded = args.tuned_pair(args.chosen_pair(pair, target, draft, revision, draft_head), options)
    measured = _measure(loaded, wanted, options, repeats, raw)
    args.keep_learned(loaded, options)
    complete = len(measured) == len(wanted)
    facts = {"complete": complete, **_facts(loaded, options, repeats, raw, source)}
    if not complete:
        talk(f"Broken off after {len(measured)} of {counted(len(wanted), 'prompt')}.")
    try:
        code = _report(measured, facts, json=json)
    finally:  # after stdout, so that a full disk costs nothing measured; and where nobody reads that
        _write(measured, facts, csv, plot)
    return code if complete else exit_codes.INTERRUPTED


def _measure(
    pair: "LoadedPair", prompts: Sequence["BenchPrompt"], options: Options, repeats: int, raw: bool
) -> list["Measured"]:
    """All prompts, or at Ctrl+C those that are done."""
    from app.compare.bench.measure import measure

    line = Progress()
    done: list[Measured] = []

    def progress(number: int, prompt: "BenchPrompt") -> None:
        line.show(f"Prompt {number + 1} of {len(prompts)}: {prompt.category} {prompt.id}")

    line.show("Warming up ...")
    try:
        for measured in measure(pair, prompts, options, repeats=repeats, raw=raw, progress=progress):
            done.append(measured)
    except KeyboardInterrupt:
        if not done:
            raise
    finally:
        line.clear()
    return done


def _facts(pair: "LoadedPair", options: Options, repeats: int, raw: bool, source: Path) -> dict[str, Any]:
    """All that somebody needs to repeat the measurement."""
    from datetime import UTC, datetime

    from app.shell.machine import circumstances

    return {
        "pair": pair.spec.as_json(),
        "options": {
            "max_tokens": options.max_tokens,
            "temperature": options.temperature,
            "seed": options.seed,
            "draft_length": "auto" if options.draft_length is None else options.draft_length,
            "drafter": options.drafter,
            "verify": options.verify,
            "repeats": repeats,
            "raw": raw,
        },
        "prompts": str(source),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **circumstances(),
    }


def _report(measured: Sequence["Measured"], facts: dict[str, Any], *, json: bool) -> int:
    from app.compare.bench import comparison, report
    from app.shell.tables import print_table

    overall, categories = comparison.compare(measured), comparison.by_category(measured)
    if json:
        rows = [report.row(m) for m in measured]
        by_category = {name: c.as_json() for name, c in categories.items()}
        json_data({"rows": rows, "by_category": by_category, "overall": overall.as_json(), **facts})
    else:
        print_table(report.table(categories, overall))
        data(overall.verdict)
    differences = _tell_differences(measured, facts["options"], talk if json else data)
    return exit_codes.NO if overall.lost or differences else exit_codes.DONE


def _write(
    measured: Sequence["Measured"], facts: dict[str, Any], csv: Path | None, plot: Path | None
) -> None:
    from app.compare.bench import comparison, report

    if csv is not None:
        report.write_csv(csv, [report.row(m) for m in measured])
    if plot is not None:
        from app.compare.bench.plot import plot as draw

        chosen = facts["options"]
        note = (
            f"{facts['device']}, temperature {chosen['temperature']:g}, draft length {chosen['draft_length']}"
        )
        title = f"{facts['pair']['name']}: with and without drafting"
        draw(plot, comparison.by_category(measured), comparison.compare(measured), title, note)


def _tell_differences(
    measured: Sequence["Measured"], options: dict[str, Any], tell: Callable[[str], None]
) -> int:
    """Show where texts differ; return how many of them nothing explains."""
    from app.compare.bench.report import difference_text

    found = [(m.prompt.id, m.difference) for m in measured if m.difference]
    if options["temperature"] and options["verify"] != "coupled":
        tell(f"With the rule {options['verify']} the text depends on the draft: {_differ(len(found))}.")
        return 0
    for name, difference in found:
        tell(f"{name}: {difference_text(difference)}")
    unexplained = sum(not difference.near_tie for _, difference in found)
    if not found:
        same = "The text is" if len(measured) == 1 else f"All {len(measured)} texts are"
        tell(f"{same} the same with and without drafting.")
    elif unexplained:
        tell(f"{_differ(unexplained)} without a reason that rounding gives. Please run `mlx-spec check`.")
    return unexplained


def _differ(number: int) -> str:
    return "1 text differs" if number == 1 else f"{number} texts differ"
