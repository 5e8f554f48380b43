"""F1: what the keys do in the part that has the focus, and the commands."""

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.chat.slash_commands import SLASH_COMMANDS
from app.tui.keys.keyed_app import KeyedApp
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.key_line import KeyLine

ABOUT = """\
A small model, the drafter, guesses the next tokens; the target checks them all in one pass and keeps \
those it would have written itself. The text is the target's own, word for word.

While an answer grows, accepted tokens are underlined and coloured, the target's own after a draft are \
slanted, tokens without a draft are plain."""


class HelpScreen(ModalScreen[None], OpenedScreen[None]):
    """Built from the bindings and the command list, so that it cannot lag behind them."""

    app: KeyedApp

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="help.close", tooltip="Close this help"),
    ]

    def __init__(self, about: str, keys: dict[str, list[tuple[str, str]]], *, commands: bool) -> None:
        super().__init__()
        self.about = about
        """What the part is that had the focus."""
        self.keys = keys
        """By the part that hears them, the focused one first: key and what it does."""
        self._commands = commands

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            if self.about:
                yield Static(Text(self.about))
            for part, keys in self.keys.items():
                yield Static(_table(part, keys))
            if self._commands:
                yield Static(_table("Commands", [(c.usage, c.summary) for c in SLASH_COMMANDS]))
                yield Static(Text(ABOUT))
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Help"
        self.query_one("#help").border_subtitle = self.app.keys.fill_in("{help.close} closes this help.")
        self.query_one("#help").focus()


def _table(title: str, rows: list[tuple[str, str]]) -> Table:
    table = Table(
        title=Text(title, "bold"), title_justify="left", box=None, show_header=False, padding=(0, 1)
    )
    table.add_column(style="bold", min_width=12)
    table.add_column()
    for name, meaning in rows:
        table.add_row(Text(name), Text(meaning))
    return table
