"""The keys of every screen by binding id, and the check of those chosen in config.toml."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from textual.binding import Binding
from textual.keys import Keys, _character_to_key
from textual.widgets import TextArea

from app.settings.config import bad_value, unknown_key

_MODIFIER = re.compile(r"(?:ctrl|shift|alt|super|hyper|meta)\+")
_ON_KEYBOARDS = (*map(chr, range(0x21, 0x100)), "€")
_SIGNS = {
    char: _character_to_key(char) for char in _ON_KEYBOARDS if char.isprintable() and not char.isalnum()
}
"""Textual's names: a key is `minus` there, and `-` would never come."""
_NAMED = {key.value for key in Keys if key is not Keys.Return} | {*_SIGNS.values()}
"""Return would never come either: it is `enter`."""
_WHILE_TYPING = {"app", "chat", "prompt"}
"""First parts of the ids of bindings that are active while the prompt has the focus."""
_ALONE = {"help", "question"}
"""First parts of the ids of screens on which only their own bindings are active."""

KEY_NAMES = {
    "escape": "Esc",
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "delete": "Del",
    **{name: char for char, name in _SIGNS.items()},
}

SHORT_NAMES = {"pageup": "PgUp", "pagedown": "PgDn", "left": "←", "right": "→", "up": "↑", "down": "↓"}


BINDINGS: dict[str, Binding] = {}
"""By id, those of every part of the interface that is imported."""


def bind(keys: str, action: str, label: str, name: str, meaning: str, *, priority: bool = False) -> Binding:
    """A binding with the id `name`, as in config.toml; without a label it is not in the key line."""
    binding = Binding(keys, action, label, show=bool(label), priority=priority, id=name, tooltip=meaning)
    return BINDINGS.setdefault(name, binding)


def default_keys() -> dict[str, str]:
    """Binding id to its default keys."""
    return {name: binding.key for name, binding in BINDINGS.items()}


def checked_keys(file: Path, keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The valid choices, and a sentence on each invalid one."""
    known, problems = default_keys(), []
    kept = {name: _normal(value) for name, value in keys.items()}
    for name, value in keys.items():
        text = f"keys.{name}"
        if name not in known:
            problems.append(unknown_key(file, text, {f"keys.{binding}": "" for binding in known}))
            del kept[name]
        elif wrong := [f"'{key}' {why}" for key in kept[name].split(",") if (why := _why_not(name, key))]:
            problems.append(bad_value(file, text, value, wrong[0]))
            del kept[name]
    while clash := _clash(known | kept, kept):
        name, key, other = clash
        problems.append(bad_value(file, f"keys.{name}", keys[name], f"{key_name(key)} is {other}'s"))
        del kept[name]
    return kept, problems


def key_name(key: str, names: Mapping[str, str] = KEY_NAMES) -> str:
    """`ctrl+pageup` as people read it."""
    if len(key) == 1:
        return key  # `r` and `R` are two keys
    return "+".join(names.get(part, part.capitalize()) for part in key.split("+"))


def short_key_name(key: str) -> str:
    """The same in few columns: `^PgUp`."""
    return key_name(key, KEY_NAMES | SHORT_NAMES).replace("Ctrl+", "^")


def _normal(keys: str) -> str:
    return ",".join(_named(key.strip()) for key in keys.split(","))


def _named(key: str) -> str:
    """A key as Textual names it: `ctrl+right_square_bracket` for `Ctrl+]`, its modifiers in order."""
    lower = key.lower() if len(key) > 1 else key  # `r` and `R` are two keys
    if lower in _NAMED:
        return lower
    last = _MODIFIER.sub("", lower)
    modifiers = "".join(sorted({*_MODIFIER.findall(lower)}))
    return modifiers + ("enter" if last == "return" else _SIGNS.get(last, last))


def _why_not(name: str, key: str) -> str:
    """Why a key cannot be used for this binding; empty if it can."""
    group, last = name.partition(".")[0], _MODIFIER.sub("", key)
    if group in ("app", "chat") and not BINDINGS[name].priority and key in _editing_keys():
        return "edits the text of the prompt; take another, best a function key"
    if group in _WHILE_TYPING and (len(key) == 1 or key in ("space", *_SIGNS.values())):
        return "is typed into the prompt; take a function key, or one with ctrl or alt"
    if len(last) != 1 and last not in _NAMED:
        return "is no key; write them like f6, ctrl+g or ctrl+shift+up"
    return ""


def _editing_keys() -> set[str]:
    bindings = (binding for binding in TextArea.BINDINGS if isinstance(binding, Binding))
    return {key for binding in bindings for key in binding.key.split(",")}


def _clash(keys: Mapping[str, str], chosen: Iterable[str]) -> tuple[str, str, str] | None:
    """(chosen binding, key, other binding with the same key) of two that can be active together."""
    for name in chosen:
        for other, theirs in keys.items():
            both = set(keys[name].split(",")) & set(theirs.split(","))
            if other != name and both and _active_together(name, other):
                return name, min(both), other
    return None


def _active_together(one: str, other: str) -> bool:
    groups = {one.partition(".")[0], other.partition(".")[0]}
    if groups & _ALONE:
        return len(groups) == 1
    return len(groups) == 1 or "app" in groups or groups <= _WHILE_TYPING
