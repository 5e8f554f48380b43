"""`config`: where config.toml is, and what holds."""

import json as json_format
from typing import TYPE_CHECKING, Any

import typer

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.output import data, json_data, talk

if TYPE_CHECKING:
    from app.settings.config import Config

EXAMPLE = '\b\nExamples:\n  mlx-spec config\n  $EDITOR "$(mlx-spec config path)"'

group = typer.Typer(
    help="Print the settings that hold, as config.toml would say them.\n\n"
    "The chat and `generate` take them; what the command line says wins.",
    epilog=EXAMPLE,
    invoke_without_command=True,
    rich_markup_mode=None,
)


@group.callback()
def show(context: typer.Context, json: args.Json = False) -> int:
    """Print the settings that hold, as config.toml would say them.

    The chat and `generate` take them; what the command line says wins.
    """
    if context.invoked_subcommand is not None:
        return exit_codes.DONE
    from app.settings.config import read_config
    from app.tui.run import checked

    config = checked(read_config())
    for problem in config.problems:
        talk(problem)
    if json:
        json_data(_facts(config))
    else:
        data("\n".join(_lines(config)))
    return exit_codes.DONE


@group.command()
def path() -> int:
    """Print where config.toml is, or would be."""
    from models.paths import config_file

    data(str(config_file()))
    return exit_codes.DONE


def _facts(config: "Config") -> dict[str, Any]:
    from app.settings.config import SCHEMA
    from app.tui.keys.keymap import default_keys

    return {
        "file": str(config.file),
        "exists": config.file.exists(),
        "values": {name: config[name] for name in SCHEMA},
        "keys": {binding: config.keys.get(binding, keys) for binding, keys in default_keys().items()},
        "problems": list(config.problems),
    }


def _lines(config: "Config") -> list[str]:
    """A whole config.toml; what is at its default is a comment."""
    from app.settings.config import SCHEMA
    from app.tui.keys.keymap import default_keys, meanings

    lines = [f"# {config.file}" + ("" if config.file.exists() else " (not there yet)")]
    table = ""
    for name, key in SCHEMA.items():
        head, dot, last = name.rpartition(".")
        if head != table:
            table = head
            lines += ["", f"[{head}]"]
        value = config[name]
        line = f"{last} = {'' if value is None else json_format.dumps(value)}".rstrip()
        lines.append(_line(line, key.meaning, is_set=name in config.values))
    lines += ["", "[keys]"]
    meaning = meanings()
    for binding, keys in default_keys().items():
        line = f"{binding} = {json_format.dumps(config.keys.get(binding, keys))}"
        lines.append(_line(line, meaning[binding], is_set=binding in config.keys))
    return lines


def _line(line: str, meaning: str, *, is_set: bool) -> str:
    return f"{line if is_set else f'# {line}':<40} # {meaning}"
