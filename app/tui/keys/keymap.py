"""The keys of every screen by binding id, and which of a person's own choices can be used."""

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from textual.app import App
from textual.binding import Binding
from textual.keys import Keys, _character_to_key
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TextArea

from app.settings.config import bad_value, unknown_key

_MODIFIER = re.compile(r"(?:ctrl|shift|alt|super|hyper|meta)\+")
_NAMED = {key.value for key in Keys} | {_character_to_key(char) for char in string.punctuation}
_WHILE_TYPING = {"app", "chat", "prompt"}
"""Bindings (by the first part of their ids) that hear keys while the prompt has the focus."""
_AROUND_THE_PROMPT = {"app", "chat"}
_ALONE = {"help", "question"}
"""Bindings of screens that hear nothing but their own."""

KEY_NAMES = {
    "escape": "Esc",
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "slash": "/",
    "question_mark": "?",
    "delete": "Del",
    "underscore": "_",
}

SHORT_NAMES = {"pageup": "PgUp", "pagedown": "PgDn", "left": "←", "right": "→", "up": "↑", "down": "↓"}


def all_bindings() -> Iterator[Binding]:
    """Every binding with an id, of the app, its screens and its widgets, as far as they are imported."""
    for place in _places():
        for binding in place.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id:
                yield binding


@cache
def default_keys() -> dict[str, str]:
    """Binding id to its keys as the program ships."""
    return {binding.id: binding.key for binding in all_bindings() if binding.id}


def meanings() -> dict[str, str]:
    """Binding id to what it does."""
    return {binding.id: binding.tooltip or binding.description for binding in all_bindings() if binding.id}


def checked_keys(file: Path, keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The choices that can be used, and a sentence on each of the others."""
    known, problems = default_keys(), []
    kept = {name: _normal(value) for name, value in keys.items()}
    for name, value in keys.items():
        text = f"keys.{name}"
        if name not in known:
            problems.append(unknown_key(file, text, {f"keys.{binding}": "" for binding in known}))
            del kept[name]
        elif wrong := next((key for key in kept[name].split(",") if not _can_be_pressed(name, key)), None):
            problems.append(bad_value(file, text, value, f"'{wrong}' {_why_not(name, wrong)}"))
            del kept[name]
    while clash := _clash(known | kept, kept):
        name, key, other = clash
        problems.append(bad_value(file, f"keys.{name}", keys[name], f"{key_name(key)} is {other}'s"))
        del kept[name]
    return kept, problems


def key_name(key: str) -> str:
    """`ctrl+pageup` as people read it."""
    if len(key) == 1:
        return key  # `r` and `R` are two keys
    return "+".join(KEY_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def short_key_name(key: str) -> str:
    """The same in few columns: `^PgUp`."""
    if len(key) == 1:
        return key
    names = KEY_NAMES | SHORT_NAMES
    return "+".join(names.get(part, part.capitalize()) for part in key.split("+")).replace("Ctrl+", "^")


def _places() -> Iterator[type]:
    """Our own subclasses of what may have bindings."""
    waiting: list[type] = [App, Screen, Widget]
    seen: set[type] = set()
    while waiting:
        place = waiting.pop(0)
        if place not in seen:
            seen.add(place)
            waiting += place.__subclasses__()
            if place.__module__.startswith("app.tui."):
                yield place


def _normal(keys: str) -> str:
    return ",".join(key.strip().lower() if len(key.strip()) > 1 else key.strip() for key in keys.split(","))


def _can_be_pressed(name: str, key: str) -> bool:
    if _is_typed(name, key) or _edits_the_prompt(name, key):
        return False
    last = _MODIFIER.sub("", key)
    return len(last) == 1 or last in _NAMED


def _is_typed(name: str, key: str) -> bool:
    """A character that would go into the prompt."""
    return len(key) == 1 and name.partition(".")[0] in _WHILE_TYPING


def _edits_the_prompt(name: str, key: str) -> bool:
    """A key that the prompt hears first, so that it would never come to what lies around it."""
    if name.partition(".")[0] not in _AROUND_THE_PROMPT:
        return False
    first = {binding.id for binding in all_bindings() if binding.priority}
    editing = (
        key for binding in TextArea.BINDINGS if isinstance(binding, Binding) for key in binding.key.split(",")
    )
    return name not in first and key in editing


def _why_not(name: str, key: str) -> str:
    if _edits_the_prompt(name, key):
        return "edits the text of the prompt; take another, best a function key"
    if _is_typed(name, key):
        return "is typed into the prompt; take a function key, or one with ctrl or alt"
    return "is no key; write them like f6, ctrl+g or ctrl+shift+up"


def _clash(keys: Mapping[str, str], chosen: Iterable[str]) -> tuple[str, str, str] | None:
    """A chosen binding, a key of it, and the other binding that has this key where both are heard."""
    for name in chosen:
        for other, theirs in keys.items():
            both = set(keys[name].split(",")) & set(theirs.split(","))
            if other != name and both and _heard_together(name, other):
                return name, min(both), other
    return None


def _heard_together(one: str, other: str) -> bool:
    groups = {one.partition(".")[0], other.partition(".")[0]}
    if groups & _ALONE:
        return len(groups) == 1
    return len(groups) == 1 or "app" in groups or groups <= _WHILE_TYPING
