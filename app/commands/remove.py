"""`remove`: delete a pulled pair."""

import sys
from typing import Annotated

import typer

from app.chat.pair_removal import is_shared, outcome, question
from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.output import print_result, talk
from models.hub.removal import Removal, plan_removal, remove

EXAMPLE = "\b\nExamples:\n  mlx-spec remove smollm2-1.7b\n  mlx-spec remove smollm2-1.7b --yes"


def command(
    name: args.CatalogueName = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    target: args.Target = None,
    draft: args.Draft = None,
    json: args.Json = False,
) -> int:
    """Delete a pulled pair, after asking.

    Local folders and models that other pairs use stay; a pair of your own leaves the list.
    Models are deleted from the Hub's cache, where other programs find them too.
    Exit code 1 if the answer was no.
    """
    spec = args.named_pair(name, target, draft)
    plan = plan_removal(spec)
    for source, why in plan.kept.items():
        talk(f"{source} stays: {why}.")
    if not yes and not _agrees(spec.name, plan):
        talk("Nothing was removed.")
        return exit_codes.NO
    done = remove(spec)
    facts = {"name": spec.name, "deleted": list(map(str, done.deleted)), "freed_bytes": done.freed_bytes}
    print_result(json, facts, outcome(spec.name, done))
    if yes and is_shared(done):  # else the question says so
        talk("It is gone from the Hub's cache, for other programs too.")
    return exit_codes.DONE


def _agrees(name: str, plan: Removal) -> bool:
    if not sys.stdin.isatty():
        raise BadInput("There is no terminal to ask for confirmation. Add --yes to remove.")
    for source in plan.deleted:
        talk(f"  {source}")
    talk(f"{question(name, plan)} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
