"""`check`: is the drafted text the target's own, on this machine?"""

from typing import TYPE_CHECKING

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.counted import counted
from app.shell.output import Progress, data, json_data, talk
from mlx_spec.types import Options

if TYPE_CHECKING:
    from app.compare.bench.prompts import BenchPrompt
    from app.compare.check.lossless import Checked
    from models.load.engine import LoadedPair

EXAMPLE = "\b\nExamples:\n  mlx-spec check\n  mlx-spec check --target ./my-target --draft ./my-draft"


@args.takes_options("max_tokens", "seed", max_tokens=48, seed=0)
def command(
    pair: args.PairName = None,
    prompts: args.Prompts = None,
    raw: args.Raw = False,
    options: Options = args.FROM_FLAGS,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
    draft_head: args.DraftHead = None,
    json: args.Json = False,
) -> int:
    """Prove that drafting keeps the text.

    Greedy and sampled answers with and without drafting, over all drafters and lengths.
    Ctrl+C keeps what was compared. Exit code 1 if one differs and rounding does not explain it.
    """
    from app.compare.bench.prompts import read_prompts
    from app.compare.check import report
    from app.compare.check.lossless import default_prompts
    from app.shell.machine import device_name, versions
    from app.shell.tables import print_table

    wanted = read_prompts(prompts) if prompts else default_prompts()
    loaded = args.loaded_pair(args.chosen_pair(pair, target, draft, revision, draft_head))
    results, complete = _check(loaded, wanted, options.max_tokens, options.seed, raw)
    if not complete:
        talk(f"Broken off after {counted(len(results), 'text')}.")
    if json:
        found = {"complete": complete, **report.as_json(results)}
        json_data({**found, "versions": versions(), "device": device_name()})
    else:
        print_table(report.table(results))
        data(report.verdict(results))
    _tell_differences(results)
    if not complete:
        return exit_codes.INTERRUPTED
    return exit_codes.NO if report.unexplained(results) else exit_codes.DONE


def _check(
    pair: "LoadedPair", prompts: "list[BenchPrompt]", max_tokens: int, seed: int, raw: bool
) -> "tuple[list[Checked], bool]":
    """Every comparison and True, or at Ctrl+C those that are done and False."""
    from app.compare.check.lossless import check

    line = Progress()
    done: list[Checked] = []
    try:
        for checked in check(pair, prompts, max_tokens=max_tokens, seed=seed, raw=raw, progress=line.show):
            done.append(checked)
    except KeyboardInterrupt:
        if not done:
            raise
        return done, False
    finally:
        line.clear()
    return done, True


def _tell_differences(results: "list[Checked]") -> None:
    from app.compare.bench.report import difference_text

    for result in results:
        if result.difference is not None:
            setting = result.setting
            how = f"{result.prompt}, {setting.mode}, {setting.drafter}, length {setting.length}"
            talk(f"{how}: {difference_text(result.difference)}")
    for drafter in dict.fromkeys(result.setting.drafter for result in results):
        if not any(result.accepted for result in results if result.setting.drafter == drafter):
            talk(f"No token of the drafter {drafter} was accepted, so this proves little about it.")
