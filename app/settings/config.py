"""`config.toml`: every key with its default, what it takes and what it is for.

A mistake in the file never keeps the program from starting: the default holds, and the mistake is named.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from platformdirs import user_documents_path, user_downloads_path

from app.settings.options import AUTO, DRAFTER, OPTION_SETTINGS, AnswerOptions, OptionSetting
from app.shell.named_file import written_out
from mlx_spec.errors import OutOfRange
from models.documents.folder import named_documents
from models.errors import BadSource, UnknownPair
from models.pairs.catalogue import all_pairs, find
from models.paths import config_file

KEYS_TABLE = "keys."
"""`[keys]` holds binding ids, which only the screens know; `app.tui.run` checks them."""
CHATS = "chats"
"""The entry of `drafting.documents` for the saved answers."""
_RULED_OUT = {
    "--no-draft": ("draft_length", "drafter"),
    "--target": ("pair",),
    "--server": ("pair", "documents"),
}
"""Flags that override these options of the file."""


@dataclass(frozen=True, slots=True)
class Key:
    default: Any
    meaning: str
    read: Callable[[Any], Any]
    """Returns the value to use; raises ValueError saying what the key takes."""
    option: str = ""
    """The parameter of `chat` and `generate` whose default this is."""


@dataclass(frozen=True, slots=True)
class Config:
    """The valid settings of the file."""

    file: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    """Dotted name to value, without `keys.`; only keys that the file sets."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Binding id to keys, separated by commas."""
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name, SCHEMA[name].default)

    @property
    def export_folder(self) -> Path:
        """Where exported files go: as set, else the first of downloads, documents and current folder."""
        usual = [user_downloads_path(), user_documents_path()]
        folders = usual if self["exports"] == AUTO else [Path(self["exports"])]
        return next((folder for folder in folders if folder.is_dir()), None) or _current_folder()

    def option_defaults(self, given: list[str]) -> dict[str, Any]:
        """Defaults of the command line's parameters, without those that `given` arguments override."""
        words = {argument.partition("=")[0] for argument in given}
        ruled_out = {option for flag in words & _RULED_OUT.keys() for option in _RULED_OUT[flag]}
        options = {SCHEMA[name].option: value for name, value in self.values.items()}
        return {
            # a list, as its flag may be repeated
            option: [value] if option == DRAFTER.field else value if isinstance(value, list) else str(value)
            for option, value in options.items()
            if option and option not in ruled_out
        }


class _Partly(ValueError):
    """A list of which some can be used, as when the disk of one folder is not there today."""

    def __init__(self, wanted: str, usable: list[str]) -> None:
        super().__init__(wanted)
        self.usable = usable


def read_config() -> Config:
    """The person's file, checked; a missing file counts as empty. Never raises."""
    file = config_file()
    try:
        settings = list(_flat(tomllib.loads(file.read_text(encoding="utf-8-sig"))))
    except FileNotFoundError:
        return Config(file)
    except (OSError, ValueError, RecursionError) as error:
        return Config(file, problems=(f"{file} cannot be read ({error}). All defaults are used.",))
    values: dict[str, Any] = {}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for name, value in settings:
        try:
            if name.startswith(KEYS_TABLE):
                keys[name.removeprefix(KEYS_TABLE)] = _text(value)
            elif name in SCHEMA:
                values[name] = SCHEMA[name].read(value)
            else:
                problems.append(unknown_key(file, name, SCHEMA))
        except _Partly as error:
            values[name] = error.usable
            problems.append(bad_value(file, name, value, str(error), "The rest of it is used."))
        except ValueError as error:
            problems.append(bad_value(file, name, value, str(error)))
    return Config(file, values, keys, tuple(problems))


def drafter_named(drafter: str) -> str:
    """Where a drafter was named, for messages: by the flag, or in config.toml."""
    if read_config()["drafting.drafter"] == drafter:
        return f'drafter = "{drafter}" in config.toml (--drafter auto overrides it)'
    return f"--drafter {drafter}"


def unknown_key(file: Path, name: str, known: Mapping[str, Any]) -> str:
    near = [n for n in known if n.endswith(f".{name}")] or get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else "`mlx-spec config` lists the keys."
    return f"{file}: there is no key {name}. {hint}"


def bad_value(file: Path, name: str, value: object, wanted: str, used: str = "Its default is used.") -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)  # as TOML writes it
    return f"{file}: {name} is {shown}; {wanted}. {used}"


def one_of(value: object, choices: Sequence[str]) -> str:
    near = get_close_matches(str(value), choices, n=1)
    return "there is no such name" + (f" ({near[0]}?)" if near else "")


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("it must be a text in quotes, not empty")
    return value.strip()


def _documents(value: object) -> list[str]:
    if not isinstance(value, list):
        raise ValueError("it must be a list of texts in quotes")
    found, missing = list[str](), list[str]()
    for each in map(_text, value):
        try:
            found.append(each if each == CHATS else named_documents(each))
        except BadSource as error:
            missing.append(str(error))
    if missing:
        why = " ".join(missing).removesuffix(".")
        raise _Partly(why, found) if found else ValueError(why)
    return found


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed
        return Path.home()


def _folder(value: object) -> str:
    if (text := _text(value)) == AUTO:
        return text
    if not os.path.isdir(folder := written_out(text)):
        raise ValueError("there is no such folder")
    return str(folder.absolute())


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it must be true or false")
    return value


def _pair(value: Any) -> str:
    try:
        return find(_text(value)).name
    except UnknownPair as error:
        raise ValueError(one_of(value, [pair.name for pair in all_pairs()])) from error


def _option_key(setting: OptionSetting) -> Key:
    def read(value: Any) -> Any:
        try:
            setting.check(value)
        except OutOfRange as error:
            raise ValueError(f"it must be {error.wanted}") from error
        return value

    default = AUTO if setting.takes_auto else getattr(AnswerOptions(), setting.field)
    return Key(None if setting.field == "seed" else default, setting.help, read, setting.field)


SCHEMA: dict[str, Key] = {
    "pair": Key(
        None,
        "The pair to begin with, a name of `mlx-spec pairs`",
        _pair,
        "pair",
    ),
    "theme": Key("mlx-spec", "The colours: mlx-spec, mlx-spec-light or another of /theme", _text),
    "exports": Key(AUTO, "Where exports go; auto is the downloads folder if there is one", _folder),
    "marks": Key(False, "Mark in the answers which tokens were drafted and accepted", _switch),
    **{setting.key: _option_key(setting) for setting in OPTION_SETTINGS},
    "drafting.documents": Key(
        [],
        "Folders and files of texts to draft from, and `chats`, the saved answers",
        _documents,
        "documents",
    ),
}
