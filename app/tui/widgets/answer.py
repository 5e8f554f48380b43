"""A finished answer: one widget, whatever its length."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive

from app.chat.thinking import thought_of
from app.engine.events import Piece
from app.shell.printable import printable
from app.tui.widgets.broken_line import BrokenLine
from app.tui.widgets.mark_styles import MARK_CLASSES, runs
from app.tui.widgets.markdown_text import markdown
from app.tui.widgets.marked_lines import MarkedLines
from app.tui.widgets.message import Message

UNBROKEN = 10**9
"""A width at which no line is broken."""


class Answer(Message):
    """Markdown, or the tokens with their marks; a line of numbers below. A thought before it is folded."""

    COMPONENT_CLASSES = {*MARK_CLASSES.values(), "answer--stats", "answer--thought"}

    marks: reactive[bool] = reactive(False, layout=True)
    unfolded: reactive[bool] = reactive(False, layout=True)

    def __init__(
        self, text: str, pieces: Sequence[Piece], stats: str, *, marks: bool = False, branch: str = ""
    ) -> None:
        super().__init__()
        self.text = text
        """The answer as the model gave it."""
        self.stats = stats
        self.branch = branch
        """`‹2/3›` where there are others; else empty."""
        self._pieces = tuple(pieces)
        self._thought = thought_of(text)
        self._drawn_in: Style | None = None
        self.set_reactive(Answer.marks, marks)

    def on_mount(self) -> None:
        self._draw()

    def watch_marks(self) -> None:
        self._draw()

    def watch_unfolded(self) -> None:
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # Component styles follow the widget's own; only then is the theme's colour known.
        self.call_after_refresh(self._follow_theme)

    def _follow_theme(self) -> None:
        # Taken out of the conversation meanwhile, it has no styles any more.
        if self.is_mounted and self.is_attached and self._mark_style("answer--stats") != self._drawn_in:
            self._draw()

    def _draw(self) -> None:
        self._drawn_in = self._mark_style("answer--stats")
        parts: list[RenderableType] = []
        if self._thought.thought:
            parts += self._thought_parts()
        if self.marks:
            parts.append(self._marked())
        elif answer := self.text[self._thought.answer_at :]:
            parts.append(markdown(answer, self._code_theme()))
        line = " ".join(part for part in (self.branch, self.stats) if part)
        self.update(Group(*parts, BrokenLine(printable(line), self._mark_style("answer--stats"))))

    def _thought_parts(self) -> list[RenderableType]:
        words = len(self._thought.thought.split())
        unfinished = "" if self._thought.finished else ", not to an end"
        sign, hint = ("▾", "fold") if self.unfolded else ("▸", "show")
        style = self._mark_style("answer--thought")
        line = Text(f"{sign} thought in {words} words{unfinished} (/think: {hint})", style)
        if not self.unfolded:
            return [line]
        return [line, Text(printable(self._thought.thought) + "\n", style)]

    def _marked(self) -> Text:
        """The answer's tokens; the parts of one visible character are drawn alike, so it stays whole."""
        whole = MarkedLines(UNBROKEN)
        whole.add(_from(self._pieces, self._thought.answer_at))
        out = Text()
        for number, line in enumerate(whole.lines):
            out.append("\n" if number else "")
            for piece in line:
                for text, mark in runs(piece):
                    out.append(text, self._mark_style(MARK_CLASSES[mark]))
        return out

    def _mark_style(self, name: str) -> Style:
        return self.get_component_rich_style(name)

    def _code_theme(self) -> str:
        return "monokai" if self.app.current_theme.dark else "friendly"


def _from(pieces: Sequence[Piece], start: int) -> list[Piece]:
    """The pieces without their first characters."""
    out: list[Piece] = []
    for piece in pieces:
        if rest := piece.text[start:]:
            out.append(Piece(rest, piece.mark))
        start = max(0, start - len(piece.text))
    return out
