"""`check`: is the text the same with drafting as without, on this machine?"""

from app.commands import arguments as args
from app.commands import loading
from app.settings.options import AnswerOptions, check_drafters
from app.shell import exit_codes
from app.shell.machine import circumstances
from app.shell.number_text import counted
from app.shell.output import data, json_data, talk
from app.shell.tables import print_table

EXAMPLE = "\b\nExamples:\n  mlx-spec check\n  mlx-spec check --target ./my-target --draft ./my-draft"


@args.with_flags("max_tokens", "seed", "drafter", max_tokens=48, seed=0)
def command(
    *,
    prompts: args.Prompts = None,
    raw: args.Raw = False,
    options: AnswerOptions,
    pair: args.PairArguments,
    json: args.Json = False,
) -> int:
    """Check that drafting does not change the text.

    Compares greedy and sampled answers with and without drafting, for several draft lengths and all drafters
    or the named ones. Ctrl+C keeps what was compared. Exit code 1 if a text differs and rounding does not
    explain it.
    """
    from app.compare import check
    from app.compare.prompts import read_prompts
    from app.compare.runner import run_until_stopped
    from app.compare.words import difference_text, unexplained

    questions = read_prompts(prompts) if prompts else check.default_prompts()
    loaded = loading.loaded_pair(pair.chosen())
    check_drafters(options.drafter, loaded.spec.name, loaded.engine.drafter_names)
    plan = check.check_plan(loaded, questions, options.max_tokens, options.seed, options.drafter)
    collector, complete = run_until_stopped(loaded, plan, raw=raw)
    measured = collector.measured()
    if not measured:
        return exit_codes.INTERRUPTED
    if not complete:
        talk(f"Broken off after {counted(len(measured), 'text')}.")
    if json:
        facts = {"pair": loaded.spec.as_json(), **circumstances()}
        json_data({"complete": complete, **check.as_json(measured), **facts})
    else:
        print_table(check.table(measured))
        data(check.verdict(measured))
    for m in measured:
        if m.difference is not None:
            talk(f"{m.prompt.id}, {m.setting.label}: {difference_text(m.difference)}")
    for drafter in check.unproven(measured):
        talk(f"No token of the drafter {drafter} was accepted, so this proves little about it.")
    if not complete:
        return exit_codes.INTERRUPTED
    return exit_codes.NO if unexplained(measured, "coupled") else exit_codes.DONE
