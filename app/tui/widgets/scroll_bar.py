"""How scrollbars are drawn: like Textual's own, but not by way of Rich: a quarter of a new line's cost."""

from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.css.styles import RulesMap
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class BarVisual(ScrollBarRender, Visual):
    """Textual's bar, as strips."""

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        rows = height or 1
        rich = self.style if isinstance(self.style, RichStyle) else RichStyle.parse(self.style)
        bar = self.render_bar(
            rows if self.vertical else width,
            self.virtual_size,
            self.window_size,
            self.position,
            width if self.vertical else rows,
            self.vertical,
            rich.bgcolor or Color.default(),
            rich.color or Color.default(),
        )
        if self.vertical:
            return [Strip([segment], width) for segment in bar.segments]
        row = Strip(list(Segment.split_lines(bar.segments))[0], width)
        return [row] * rows

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return 1
