"""A finished answer: one widget, whatever its length."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive

from app.chat.thinking import thought_of
from app.engine.events import Piece
from app.shell.printable import printable
from app.tui.widgets.item_line import SEPARATOR
from app.tui.widgets.markdown_text import markdown
from app.tui.widgets.marked_lines import MARK_CLASSES, MarkedLines, runs
from app.tui.widgets.message import Message

UNBROKEN = 10**9
"""A width at which no line is broken."""


class Answer(Message):
    """Markdown, or the tokens with their marks; a line of numbers below. A thought before it is folded."""

    COMPONENT_CLASSES = {*MARK_CLASSES.values(), "answer--stats", "answer--thought"}

    marks: reactive[bool] = reactive(False, layout=True, init=False)
    unfolded: reactive[bool] = reactive(False, layout=True, init=False)

    def __init__(
        self, text: str, pieces: Sequence[Piece], stats: str, *, marks: bool = False, branch: str = ""
    ) -> None:
        """`branch`: `‹2/3›` where there are others; else empty."""
        super().__init__()
        self.text = text
        self.stats = stats
        self.branch = branch
        self._pieces = pieces
        self._thought = thought_of(text)
        self.set_reactive(Answer.marks, marks)

    def on_mount(self) -> None:
        self._draw()
        self.app.theme_changed_signal.subscribe(self, lambda _: self.call_after_refresh(self._draw))

    def watch_marks(self) -> None:
        self._draw()

    def watch_unfolded(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        parts = self._thought_parts() if self._thought.thought else []
        if self.marks:
            parts.append(self._marked())
        elif answer := self.text[self._thought.answer_at :]:
            parts.append(markdown(answer, "monokai" if self.app.current_theme.dark else "friendly"))
        line = " ".join(part for part in (self.branch, self.stats) if part)
        self.update(Group(*parts, _Stats(printable(line), self.get_component_rich_style("answer--stats"))))

    def _thought_parts(self) -> list[RenderableType]:
        words = len(self._thought.thought.split())
        unfinished = "" if self._thought.finished else ", not to an end"
        sign, hint = ("▾", "fold") if self.unfolded else ("▸", "show")
        style = self.get_component_rich_style("answer--thought")
        line = Text(f"{sign} thought in {words} words{unfinished} (/think: {hint})", style)
        if not self.unfolded:
            return [line]
        return [line, Text(printable(self._thought.thought) + "\n", style)]

    def _marked(self) -> Text:
        """The answer's tokens; the parts of one visible character are drawn alike, so it stays whole."""
        whole = MarkedLines(UNBROKEN)
        whole.add(_from(self._pieces, self._thought.answer_at))
        styles = {mark: self.get_component_rich_style(name) for mark, name in MARK_CLASSES.items()}
        marked = ((run for piece in line for run in runs(piece)) for line in whole.lines)
        return Text("\n").join(
            Text.assemble(*((text, styles[mark]) for text, mark in line)) for line in marked
        )


class _Stats:
    def __init__(self, text: str, style: Style) -> None:
        self._text, self._style = text, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text("\n".join(broken(self._text, options.max_width)), self._style)


def broken(text: str, width: int) -> list[str]:
    """Lines with as many of the text's parts as fit; a part is never broken."""
    first, *others = text.split(SEPARATOR)
    lines = [first]
    for part in others:
        longer = f"{lines[-1]}{SEPARATOR}{part}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _from(pieces: Sequence[Piece], start: int) -> list[Piece]:
    out: list[Piece] = []
    for piece in pieces:
        if rest := piece.text[start:]:
            out.append(Piece(rest, piece.mark))
        start = max(0, start - len(piece.text))
    return out
