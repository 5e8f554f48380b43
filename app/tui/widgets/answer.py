"""A finished answer: one widget, whatever its length."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from app.events import Piece
from app.printable import printable
from app.tui.mark_styles import MARK_CLASSES, runs
from app.tui.markdown_text import markdown


class Answer(Static):
    """Markdown, or the tokens with their marks; a line of numbers below."""

    COMPONENT_CLASSES = {*MARK_CLASSES.values(), "answer--stats"}

    marks: reactive[bool] = reactive(False, layout=True)

    def __init__(self, text: str, pieces: Sequence[Piece], stats: str, *, marks: bool = False) -> None:
        super().__init__()
        self.text = text
        """The answer as the model gave it."""
        self.stats = stats
        self._pieces = tuple(pieces)
        self._drawn_in: Style | None = None
        self.set_reactive(Answer.marks, marks)

    def on_mount(self) -> None:
        self._draw()

    def watch_marks(self) -> None:
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # Component styles follow the widget's own; only then is the theme's colour known.
        self.call_after_refresh(self._follow_theme)

    def _follow_theme(self) -> None:
        if self.is_mounted and self._mark_style("answer--stats") != self._drawn_in:
            self._draw()

    def _draw(self) -> None:
        self._drawn_in = self._mark_style("answer--stats")
        body: RenderableType = self._marked() if self.marks else markdown(self.text, self._code_theme())
        self.update(Group(body, Text(printable(self.stats), self._mark_style("answer--stats"))))

    def _marked(self) -> Text:
        out = Text()
        for piece in self._pieces:
            for text, mark in runs(piece):
                out.append(text, self._mark_style(MARK_CLASSES[mark]))
        return out

    def _mark_style(self, name: str) -> Style:
        return self.get_component_rich_style(name)

    def _code_theme(self) -> str:
        return "monokai" if self.app.current_theme.dark else "friendly"
