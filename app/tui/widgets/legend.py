"""What the marks of an answer mean."""

from typing import ClassVar

from textual.content import Content
from textual.widgets import Static

from app.engine.events import Mark
from app.tui.widgets.mark_styles import MARK_CLASSES


class Legend(Static):
    """Three words, each looking like the tokens it stands for."""

    COMPONENT_CLASSES = set(MARK_CLASSES.values())

    WORDS: ClassVar[tuple[tuple[Mark, str], ...]] = (
        ("accepted", "drafted, stood"),
        ("bonus", "target, after a draft"),
        ("plain", "target alone"),
    )

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # Component styles follow the widget's own; only then are the theme's colours known.
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        parts: list[Content] = []
        for mark, meaning in self.WORDS:
            style = self.get_visual_style(MARK_CLASSES[mark])
            parts.append(Content.styled(mark, style) + (f" {meaning}" if self.size.width >= 72 else ""))
        self.update(Content("   ").join(parts))
