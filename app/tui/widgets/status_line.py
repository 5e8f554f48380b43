"""One line of numbers; what does not fit is left out, the least important first."""

from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class StatusItem:
    """A part of the line."""

    text: str
    weight: int
    """The lightest items go first when the line is narrow."""
    style: str = ""


class StatusLine(Static):
    """Shows as many of its items as fit, in their order."""

    items: reactive[tuple[StatusItem, ...]] = reactive(())

    def watch_items(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        parts = [
            Content.styled(item.text, item.style) for item in fitting(self.items, self.content_size.width)
        ]
        self.update(Content(SEPARATOR).join(parts), layout=False)


def fitting(items: tuple[StatusItem, ...], width: int) -> tuple[StatusItem, ...]:
    """The heaviest items whose line is at most `width` cells; always at least one."""
    kept = list(items)
    while len(kept) > 1 and cell_len(SEPARATOR.join(item.text for item in kept)) > width:
        kept.remove(min(kept, key=lambda item: item.weight))
    return tuple(kept)
