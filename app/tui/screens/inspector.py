"""The rounds of an answer, one per row, and the place of each in the text."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.chat.answer_log import AnswerLog
from app.engine.events import DraftRound
from app.shell.number_text import counted
from app.shell.printable import one_line, printable
from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.item_list import ItemList
from app.tui.widgets.token_text import round_sentence, round_text

REFRESH_SECONDS = 0.25
LINES_BEFORE, LINES_AFTER = 2, 5
"""Most lines of text shown around the round's own; what does not fit below is cut off."""


class RoundList(ItemList):
    def action_cursor_down(self) -> None:
        """Stay on the newest round, which is followed: Textual would go on with the first."""
        if self.highlighted != self.option_count - 1:
            super().action_cursor_down()


class InspectorScreen(OpenedScreen[None]):
    """Follows the newest round until the person moves to another one."""

    HELP = """\
One row per round: milliseconds, who drafted, how many of the drafted tokens were accepted, and the tokens. \
Up and down walk the rounds; the text above shows the round's place in the answer."""

    BINDINGS = [
        bind("escape,f8,ctrl+l,q", "dismiss", "Back", "rounds.close", "Back to the chat"),
        bind("left", "answer(-1)", "Earlier", "rounds.earlier", "The answer before"),
        bind("right", "answer(1)", "Later", "rounds.later", "The answer after"),
    ]

    def __init__(self, logs: Callable[[], list[AnswerLog]], answer: AnswerLog) -> None:
        """`logs` returns those of the chat's answers; more may be added. `answer` is shown first."""
        super().__init__()
        self._logs = logs
        self.answer = answer

    @property
    def logs(self) -> list[AnswerLog]:
        """The chat's logs, and the shown one even if its answer was removed."""
        logs = self._logs()
        return logs if self.answer in logs else [*logs, self.answer]

    @property
    def place(self) -> int:
        return self.logs.index(self.answer)

    @property
    def chosen(self) -> DraftRound | None:
        """The round under the cursor."""
        row = self.query_one(OptionList).highlighted
        return None if row is None else self.answer.rounds[row]

    def parts(self) -> ComposeResult:
        yield Static(id="rounds-title")
        yield Static(id="rounds-text")
        yield Static(id="rounds-sentence")
        yield RoundList(markup=False, id="rounds")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self.every(REFRESH_SECONDS, self._grow)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_answer)

    def on_option_list_option_highlighted(self) -> None:
        self._describe()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "answer" or self.place + int(str(parameters[0])) in range(len(self.logs))

    def action_answer(self, step: int) -> None:
        self.answer = self.logs[self.place + step]
        self.query_one(OptionList).highlighted = None
        self.show_answer()

    def show_answer(self) -> None:
        """Draw all rows again; the cursor stays where it was, at first on the newest."""
        rows = self.query_one(OptionList)
        at, last = rows.highlighted, rows.option_count - 1
        rows.clear_options()
        self._grow()
        if at is not None and at != last:
            rows.highlighted = at
        self._describe()

    def _grow(self) -> None:
        rows, rounds = self.query_one(OptionList), self.answer.rounds
        count = rows.option_count
        if count < len(rounds):
            follows = count == 0 or rows.highlighted == count - 1
            rows.add_options(Option(self._row(n, r)) for n, r in enumerate(rounds[count:], count + 1))
            if follows:
                rows.highlighted = len(rounds) - 1
            self._describe()
        state = "" if self.answer.over else ", being written"
        title = f"Answer {self.place + 1} of {len(self.logs)}{state} · {counted(len(rounds), 'round')}"
        self.query_one("#rounds-title", Static).update(Content(title))
        self.refresh_bindings()

    def _row(self, number: int, played: DraftRound) -> Content:
        narrow = self.size.width < 60
        drafter = "" if narrow else f"{one_line(played.drafter) if played.drafted else '–':10.10} "
        right = f"{played.accepted}/{played.draft_length}" if played.drafted else ""
        head = f"{number:>4} {played.seconds * 1000:>6.1f} ms  {drafter}{right:<5} "
        return Content.assemble((head, "$text-muted"), round_text(played))

    def _describe(self) -> None:
        chosen, log = self.chosen, self.answer
        text, sentence = Content("Nothing was written yet."), ""
        if chosen is not None:
            number = (self.query_one(OptionList).highlighted or 0) + 1
            height = self.query_one("#rounds-text").content_size.height
            text = excerpt(log.text, chosen, self.size.width - 4, max(0, min(LINES_BEFORE, height - 1)))
            sentence = f"Round {number}: {round_sentence(chosen)}"
        self.query_one("#rounds-text", Static).update(text)
        self.query_one("#rounds-sentence", Static).update(Content(sentence))


def excerpt(text: str, played: DraftRound, width: int, lines: int = LINES_BEFORE) -> Content:
    """The round's text highlighted, among some lines of the answer around it, `lines` before it."""
    width = max(width, 10)
    before = "\n".join(text[: played.begin].rsplit("\n", lines + 1)[-lines - 1 :])
    room = lines * width or width // 2
    if len(before) > room:
        before = f"…{before[1 - room :]}"
    after = text[played.end : played.end + LINES_AFTER * width]
    # A round without text (the stop token) still has a place.
    own = printable(text[played.begin : played.end]) or "▏"
    return Content.assemble(printable(before), (own, "reverse bold"), printable(after))
