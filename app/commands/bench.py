"""`bench`: does drafting pay here?"""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import arguments as args
from app.commands import loading
from app.settings.options import AnswerOptions
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.machine import circumstances
from app.shell.named_file import check_place
from app.shell.output import data, json_data, talk
from app.shell.tables import print_table

if TYPE_CHECKING:
    from app.compare.record import Record

FEWEST_TOKENS = 3  # prefill gives the first token, the first round's verify pass one more

EXAMPLE = "\b\nExamples:\n  mlx-spec bench\n  mlx-spec bench --temperature 0.8 --repeats 5 --plot bench.svg"


@args.with_flags(
    "max_tokens", "temperature", "seed", "think", "draft_length", "drafter", "verify", max_tokens=128, seed=0
)
def command(
    *,
    prompts: args.Prompts = None,
    raw: args.Raw = False,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="Runs per prompt and setting.")
    ] = 3,
    options: AnswerOptions,
    pair: args.PairArguments,
    json: args.Json = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results, one line per prompt.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png|svg", help="Write a plot of the speeds.")
    ] = None,
) -> int:
    """Measure drafting against plain decoding.

    Runs every prompt with and without drafting in turn, after a warm-up, and compares the texts too.
    Ctrl+C keeps the finished prompts. Exit code 1 if drafting was slower, or if a text differs and
    rounding does not explain it.
    """
    from app.compare.export import check_file, write_csv
    from app.compare.plan import Question, Setting, plan
    from app.compare.plots import SUFFIXES, draw
    from app.compare.prompts import DEFAULT_PROMPTS, read_prompts
    from app.compare.record import shared_options
    from app.compare.runner import prompt_ids, run_until_stopped

    if options.max_tokens < FEWEST_TOKENS:
        raise BadInput(
            f"--max-tokens is {options.max_tokens}; an answer's first two tokens are not drafted. "
            f"Give at least {FEWEST_TOKENS}."
        )
    if options.draft_length == 0:
        raise BadInput("--draft-length 0 is plain decoding, what bench compares with. Give 1 or more.")
    if plot is not None:
        check_file("--plot", plot, SUFFIXES)
    if csv is not None:
        check_place("--csv", csv)
    files = [os.path.realpath(file) for file in (prompts, csv, plot) if file is not None]
    if len(set(files)) < len(files):
        raise BadInput("--prompts, --csv and --plot name one file twice. Name different ones.")
    source = prompts or DEFAULT_PROMPTS
    questions = [Question.of(prompt) for prompt in read_prompts(source)]
    setting = Setting(options.drafter, options.draft_length, options.temperature)
    runs = plan(questions, [setting], options, repeats)
    with loading.tuned_pair(pair.chosen(), options, lambda pair: prompt_ids(pair, runs, raw=raw)) as loaded:
        collector, complete = run_until_stopped(loaded, runs, raw=raw)
    asked = {"options": shared_options(options), "raw": raw}
    facts = {"pair": loaded.spec.as_json(), **asked, **circumstances()}
    record = collector.record(facts, "" if complete else "stopped by you")
    if record is None:
        return exit_codes.INTERRUPTED
    try:
        code = _report(record, str(source), json=json)
    finally:  # after stdout, so that a full disk loses no result; and even if stdout is closed
        if csv is not None:
            write_csv(csv, record)
        if plot is not None:
            draw(plot, record)
    return code if complete else exit_codes.INTERRUPTED


def _report(record: "Record", prompts: str, *, json: bool) -> int:
    from app.compare.export import summary
    from app.compare.tables import tables
    from app.compare.words import difference_text, heading, may_differ, sentence, unexplained

    (place,) = record.drafting
    measured = record.measured(place)
    if json:
        setting = asdict(record.settings[place])
        about = {"complete": not record.broken_off, "setting": setting, "date": record.date}
        json_data({**summary(measured), **about, "prompts": prompts, **record.facts})
    else:
        data(heading(record))
        for table in tables(record):
            print_table(table)
    note, verify = talk if json else data, record.facts["options"]["verify"]
    for m in measured:
        if m.difference is not None and not may_differ(m.setting.temperature, verify):
            note(f"{m.prompt.id}: {difference_text(m.difference)}")
    note(sentence(record))
    bad = unexplained(measured, verify)
    return exit_codes.NO if record.comparison(place).lost or bad else exit_codes.DONE
