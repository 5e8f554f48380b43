"""The settings of this chat and what drafting did in it, in one panel."""

from collections.abc import Collection, Sequence

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from app.chat.answer_log import AnswerLog
from app.chat.chat_totals import PLAIN_ROUNDS_NEEDED, ChatTotals, totals
from app.shell.number_text import counted
from app.shell.printable import one_line
from app.tui.keys.in_force import Keys
from app.tui.keys.keymap import bind
from app.tui.screens.panel import Panel

REFRESH_SECONDS = 0.5


class TotalsScreen(Panel):
    """Updated while an answer is written."""

    TITLE = "This chat"
    HELP = """\
The settings of this chat's next answer, and what drafting did in all of its answers, the one being written \
included. Each setting is named after the command that changes it. Time saved is against the time the tokens \
would have taken in plain rounds, if enough of those were measured in this chat."""

    BINDINGS = [
        bind("escape,f9,q", "dismiss", "Close", "totals.close", "Close this panel"),
    ]

    def __init__(self, setup: Sequence[tuple[str, str]], logs: Collection[AnswerLog]) -> None:
        """`setup`: the settings of the next answer, as (name, value)."""
        super().__init__()
        self._setup, self._logs = setup, logs

    def on_mount(self) -> None:
        self._show()
        self.every(REFRESH_SECONDS, self._show)

    def _show(self) -> None:
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in [*self._setup, *rows(totals(self._logs), self.app.keys)]:
            table.add_row(Text(name, "bold"), Text(value))
        self.query_one("#panel Static", Static).update(table)


def rows(chat: ChatTotals, keys: Keys) -> list[tuple[str, str]]:
    if not chat.rounds:
        return [("Answers", "none in this chat since it was opened")]
    found = [
        ("Answers", str(chat.answers)),
        ("Tokens", f"{chat.tokens} in {chat.seconds:.1f} s of decoding"),
        ("Rounds", f"{chat.rounds}, {chat.tokens / chat.rounds:.2f} tokens each"),
    ]
    if not chat.drafted:
        return [*found, ("Time saved", "nothing was drafted")]
    by = [f"{one_line(name)} in {counted(n, 'round')}" for name, n in chat.rounds_by_drafter.items()]
    found.append(("Drafted by", ", ".join(by)))
    found.append(("Accepted", f"{chat.accepted} of {chat.drafted} ({chat.accepted / chat.drafted:.0%})"))
    basis = f"against the median of {chat.plain_rounds} plain rounds of this chat"
    if chat.saved_seconds is None:
        saved = (
            f"not known: {chat.plain_rounds} plain rounds were measured in this chat, "
            f"{PLAIN_ROUNDS_NEEDED} are needed ({keys.name('chat.draft')} answers without drafting)"
        )
    elif chat.saved_seconds < 0:
        saved = f"none, {-chat.saved_seconds:.1f} s lost {basis}"
    else:
        saved = f"{chat.saved_seconds:.1f} s {basis}"
    return [*found, ("Time saved", saved)]
