"""What the help says: what has the focus, and the keys that are heard there."""

from collections.abc import Iterable, Iterator

from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import OptionList

from app.tui.keys.keyed_app import KeyedApp
from app.tui.keys.keymap import default_keys, key_name

PARTS = {
    "prompt": "While you write",
    "chat": "In the chat",
    "messages": "On the messages ({prompt.browse})",
    "app": "Everywhere",
}
"""Titles in the help by the first part of a binding's id; other screens' keys are `Here`."""


def about_focus(app: KeyedApp) -> str:
    """What the part that has the focus is for, and the screen it is on."""
    parts = (app.focused, app.screen)
    return "\n\n".join(app.keys.fill_in(part.HELP) for part in parts if part is not None and part.HELP)


def described_keys(
    app: KeyedApp, more: Iterable[BindingType] = (), *, empties_prompt: bool = False
) -> dict[str, list[tuple[str, str]]]:
    """(keys, meaning) by the part that hears them, what is heard everywhere last.

    `more`: bindings that the key line names only where they do something.
    """
    found: dict[str, dict[str, tuple[list[str], str]]] = {}
    for key, binding in _heard(app, more):
        part = app.keys.fill_in(PARTS.get(str(binding.id).partition(".")[0], "Here"))
        meaning = binding.tooltip or binding.description
        found.setdefault(part, {}).setdefault(str(binding.id), ([], meaning))[0].append(key_name(key))
    described = {
        part: [(" or ".join(keys), meaning) for keys, meaning in known.values()]
        for part, known in sorted(found.items(), key=lambda item: item[0] == PARTS["app"])
    }
    everywhere = described.setdefault(PARTS["app"], [])
    everywhere.append(("Ctrl+P", "Command palette"))
    first = (
        "Close this; twice"
        if app.screen.is_modal
        else "Empty the prompt; twice"
        if empties_prompt
        else "Twice"
    )
    everywhere.append(("Ctrl+C", f"{first}: leave"))
    return described


def passed_on(screen: Screen[object]) -> list[Binding]:
    """The own bindings of a screen whose list has the focus: with their keys it does the same, or nothing."""
    if not isinstance(screen.focused, OptionList):
        return []
    return [binding for binding in screen.BINDINGS if isinstance(binding, Binding)]


def _heard(app: KeyedApp, more: Iterable[BindingType]) -> Iterator[tuple[str, Binding]]:
    active = [(key, heard.binding) for key, heard in app.screen.active_bindings.items()]
    yield from ((key, binding) for key, binding in active if binding.id in default_keys())
    known = {binding.id for _, binding in active}
    first = [b for b in app.BINDINGS if isinstance(b, Binding) and b.priority]
    for binding in (*(first if app.screen.is_modal else ()), *passed_on(app.screen), *more):
        if isinstance(binding, Binding) and binding.id and binding.id not in known:
            yield from ((key, binding) for key in app.keys.of(binding.id))
