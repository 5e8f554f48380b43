"""`bench`: does drafting pay here?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.output import data, json_data, talk
from mlx_spec.types import Options

if TYPE_CHECKING:
    from app.compare.plan import Plan
    from app.compare.record import Record
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
    from app.compare.export import check_file, write_csv
    from app.compare.plan import Question, Setting, plan
    from app.compare.plots import SUFFIXES, draw
    from app.compare.prompts import DEFAULT_PROMPTS, read_prompts
    from app.shell.output_file import check_place

    if options.max_tokens < FEWEST_TOKENS:
        raise BadInput(
            f"--max-tokens is {options.max_tokens}; an answer's first two tokens are not drafted. "
            f"Give at least {FEWEST_TOKENS}."
        )
    if plot is not None:
        check_file("--plot", plot, SUFFIXES)
    if csv is not None:
        check_place("--csv", csv)
    source = prompts or DEFAULT_PROMPTS
    questions = [Question.of(prompt) for prompt in read_prompts(source)]
    setting = Setting(options.drafter, options.draft_length, options.temperature)
    loaded = args.tuned_pair(args.chosen_pair(pair, target, draft, revision, draft_head), options)
    record = _measure(loaded, plan(questions, [setting], options, repeats), raw)
    args.keep_learned(loaded, options)
    if record is None:
        return exit_codes.INTERRUPTED
    try:
        code = _report(record, {"prompts": str(source), "raw": raw}, json=json)
    finally:  # after stdout, so that a full disk costs nothing measured; and where stdout is closed
        if csv is not None:
            write_csv(csv, record)
        if plot is not None:
            draw(plot, record)
    return exit_codes.INTERRUPTED if record.broken_off else code


def _measure(pair: "LoadedPair", plan: "Plan", raw: bool) -> "Record | None":
    """All prompts, or at Ctrl+C those that are done."""
    from app.compare.record import shared_options
    from app.compare.runner import run_until_stopped
    from app.shell.machine import circumstances

    collector, done = run_until_stopped(pair, plan, raw=raw)
    facts = {"pair": pair.spec.as_json(), "options": shared_options(plan.options), **circumstances()}
    return collector.record(facts, "" if done else "stopped by you")


def _report(record: "Record", asked: dict[str, Any], *, json: bool) -> int:
    from dataclasses import asdict

    from app.compare.export import summary
    from app.compare.tables import tables
    from app.compare.words import difference_text, sentence, unexplained
    from app.shell.tables import print_table

    (place,) = record.drafting
    measured = record.measured(place)
    if json:
        setting = asdict(record.settings[place])
        about = {"complete": not record.broken_off, "setting": setting, "date": record.date, **asked}
        json_data({**summary(measured), **about, **record.facts})
    else:
        for table in tables(record):
            print_table(table)
    tell = talk if json else data
    for m in measured:
        if m.difference is not None:
            tell(f"{m.prompt.id}: {difference_text(m.difference)}")
    tell(sentence(record))
    bad = unexplained(measured, record.facts["options"]["verify"])
    return exit_codes.NO if record.comparison(place).lost or bad else exit_codes.DONE
