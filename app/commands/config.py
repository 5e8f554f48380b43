"""`config`: where config.toml is, and the settings in effect."""

import json as json_format
from typing import Any

import typer

from app.commands import arguments as args
from app.settings.config import SCHEMA, Config, read_config
from app.shell.errors import BadInput
from app.shell.output import data, print_result, talk
from models.pairs.installed import default_pair
from models.paths import config_file

EXAMPLE = '\b\nExamples:\n  mlx-spec config\n  $EDITOR "$(mlx-spec config path)"'

group = typer.Typer(epilog=EXAMPLE, invoke_without_command=True, rich_markup_mode=None)


@group.callback()
def show(context: typer.Context, json: args.Json = False) -> None:
    """Print the settings in effect, in the format of config.toml.

    The settings are defaults: options on the command line override them.
    bench, check and tune use `pair` only.
    """
    if context.invoked_subcommand is not None:
        if json:
            raise BadInput(
                "`mlx-spec config path` prints no JSON; `mlx-spec config --json` has the file too."
            )
        return
    from app.tui.keys.keymap import default_keys
    from app.tui.run import checked

    config = checked(read_config())
    for problem in config.problems:
        talk(problem)
    values = {name: config[name] for name in SCHEMA}
    values["pair"] = values["pair"] or default_pair().name
    settings = {
        "file": str(config.file),
        "exists": config.file.exists(),
        "values": values,
        "keys": {binding: config.keys.get(binding, keys) for binding, keys in default_keys().items()},
        "problems": list(config.problems),
    }
    print_result(json, settings, "\n".join(_lines(config, values)))


@group.command()
def path() -> None:
    """Print where config.toml is, or would be."""
    data(str(config_file()))


def _lines(config: Config, values: dict[str, Any]) -> list[str]:
    """A complete config.toml; values left at their default are commented out."""
    from app.tui.keys.keymap import BINDINGS

    lines = [f"# {config.file}" + ("" if config.file.exists() else " (not there yet)")]
    table = ""
    for name, key in SCHEMA.items():
        head, _, last = name.rpartition(".")
        if head != table:
            table = head
            lines += ["", f"[{head}]"]
        lines.append(_line(last, values[name], key.meaning, is_set=name in config.values))
    lines += ["", "[keys]"]
    for name, binding in sorted(BINDINGS.items(), key=lambda item: item[0].partition(".")[0]):
        value, is_set = config.keys.get(name, binding.key), name in config.keys
        lines.append(_line(name, value, binding.tooltip, is_set=is_set))
    return lines


def _line(name: str, value: object, meaning: str, *, is_set: bool) -> str:
    line = f"{name} = {'' if value is None else json_format.dumps(value, ensure_ascii=False)}".rstrip()
    return f"{line if is_set else f'# {line}':<40} # {meaning}"
