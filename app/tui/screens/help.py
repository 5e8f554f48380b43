"""F1: what the keys and commands do."""

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.tui.slash_commands import SLASH_COMMANDS

ABOUT = """\
A small model, the drafter, guesses the next tokens; the target checks them all in one pass and keeps \
those it would have written itself. The text is the target's own, word for word.

While an answer grows, accepted tokens are underlined and coloured, the target's own after a draft are \
slanted, tokens without a draft are plain."""


class HelpScreen(ModalScreen[None]):
    """Built from the bindings and the command list, so that it cannot lag behind them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q", "dismiss", "Close", id="help.close", tooltip="Close this help"),
    ]

    def __init__(self, keys: list[tuple[str, str]]) -> None:
        super().__init__()
        self.keys = keys
        """Key and what it does."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(_table("Keys", self.keys))
            yield Static(_table("Commands", [(c.usage, c.summary) for c in SLASH_COMMANDS]))
            yield Static(Text(ABOUT))
            yield Static(Text("Esc closes this help.", "dim"))

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Help"
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
