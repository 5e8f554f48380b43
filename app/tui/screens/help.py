"""F1: what the keys do in the part that has the focus, and the commands."""

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static

from app.chat.slash_commands import SLASH_COMMANDS
from app.tui.keys.keymap import bind, default_keys, key_name
from app.tui.program import Program
from app.tui.screens.panel import Panel

ABOUT = """\
A small model, the drafter, guesses the next tokens; the target, the model that answers, checks them all in \
one pass and keeps those it would have written itself. The text is the target's own, word for word.

{chat.marks} marks the tokens: accepted ones are underlined and coloured, the target's own after a draft \
are slanted, tokens without a draft are plain.

The line above the prompt shows the tokens per second; the tokens accepted and drafted in an average round \
(1.5/3.0), with a bar for the acceptance rate of the first drafted token, the second, and so on; the drafter \
and its draft length; the shares of drafting and verifying in the time; the engine's memory."""

KEYS_WIDTH = 24
"""Most columns of the keys and commands; longer ones are wrapped."""

PARTS = {
    "prompt": "While you write",
    "chat": "In the chat",
    "messages": "On the messages ({prompt.browse})",
    "app": "Everywhere",
}
"""Titles by the first part of a binding's id; other screens' keys are `Here`."""

Described = dict[str, list[tuple[str, str]]]
"""Title to rows of (keys, meaning)."""


class HelpScreen(Panel):
    """Built from the bindings and the command list, so that it is never out of date."""

    TITLE = "Help"
    BINDINGS = [bind("escape,q", "dismiss", "Close", "help.close", "Close this help")]

    def __init__(self, about: str, keys: Described, *, commands: bool) -> None:
        """`about`: describes the part with the focus; `commands`: list the commands too."""
        super().__init__()
        self.about = about
        self.keys = keys
        self._commands = commands

    def texts(self) -> ComposeResult:
        if self.about:
            yield Static(Text(self.about))
        commands = {"Commands": [(c.usage, c.summary) for c in SLASH_COMMANDS]} if self._commands else {}
        yield Static(_table(self.keys | commands))
        if self._commands:
            yield Static(Text(self.app.keys.fill_in(ABOUT)))

    def on_mount(self) -> None:
        self.query_one("#panel").border_subtitle = self.app.keys.fill_in("{help.close} closes this help.")


def about_focus(app: Program) -> str:
    parts = (app.focused, app.screen)
    return "\n\n".join(app.keys.fill_in(part.HELP) for part in parts if part is not None and part.HELP)


def described_keys(app: Program, *others: type[Widget], empties_prompt: bool = False) -> Described:
    """The keys of the part with the focus, of what it lies in, of `others`, and last those of the app."""
    inner = [type(node) for node in (app.focused or app.screen).ancestors_with_self][:-1]
    described: Described = {}
    for place in dict.fromkeys([*inner, *others, type(app)]):
        for binding in place.BINDINGS:
            if not isinstance(binding, Binding) or binding.id not in default_keys():
                continue
            if place is not type(app) or binding.priority or not app.screen.is_modal:
                keys = " or ".join(map(key_name, app.keys.of(binding.id)))
                title = app.keys.fill_in(PARTS.get(str(binding.id).partition(".")[0], "Here"))
                rows = described.setdefault(title, [])
                if (row := (keys, binding.tooltip)) not in rows:  # a key may have two names in the key line
                    rows.append(row)
    twice = "Empty the prompt; twice" if empties_prompt else "Twice"
    twice = "Close this; twice" if app.screen.is_modal else twice
    described[PARTS["app"]] += [("Ctrl+C", f"{twice}: leave")]
    return described


def _table(parts: Described) -> Table:
    """One table, so that all meanings begin in the same column."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", max_width=KEYS_WIDTH)
    table.add_column()
    for title, rows in parts.items():
        if table.rows:
            table.add_row()
        table.add_row(Text.assemble((title, "underline")))
        for name, meaning in rows:
            table.add_row(Text(name), Text(meaning))
    return table
