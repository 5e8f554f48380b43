"""The settings of this chat and what drafting did in it, in one panel."""

from collections.abc import Collection, Sequence

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from app.chat.answer_log import AnswerLog
from app.chat.chat_totals import totals
from app.tui.keys.keymap import bind
from app.tui.screens.panel import Panel

REFRESH_SECONDS = 0.5


class TotalsScreen(Panel):
    """Updated while an answer is written."""

    TITLE = "This chat"
    HELP = """\
The settings of this chat's next answer, and what drafting gained in all its answers, the one being written \
included. Each setting is named after the command that changes it. Time saved is against the time the tokens \
would have taken in plain rounds, if enough of those were measured in this chat."""

    BINDINGS = [bind("escape,f9,q", "dismiss", "Close", "totals.close", "Close this panel")]

    def __init__(self, setup: Sequence[tuple[str, str]], logs: Collection[AnswerLog]) -> None:
        """`setup`: the settings of the next answer, as (name, value)."""
        super().__init__()
        self._setup, self._logs = setup, logs

    def on_mount(self) -> None:
        self._show()
        self.every(REFRESH_SECONDS, self._show)

    def _show(self) -> None:
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in [*self._setup, *totals(self._logs, self.app.keys.name("chat.draft"))]:
            table.add_row(Text(name, "bold"), Text(value))
        self.query_one("#panel Static", Static).update(table)
