"""A list that keeps its highlighted item in view, and the columns of its rows."""

from typing import Literal

from textual.content import Content
from textual.events import Click
from textual.widgets import OptionList

from app.shell.printable import one_line


class SafeList(OptionList):
    def on_click(self, event: Click) -> None:
        """Pass over a click on an item that is gone by now, on which Textual 8.2.8 fails."""
        if event.style.meta.get("option", -1) >= self.option_count:
            event.prevent_default()

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        """Pass over a page key without a line to show, as before the first layout, where it fails too."""
        if self.scrollable_content_region:
            super()._move_page(direction)


class ItemList(SafeList):
    """Textual scrolls to it before new items are laid out, and not when the list gets shorter."""

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        self.call_after_refresh(self.scroll_to_highlight)

    def on_resize(self) -> None:
        self.call_after_refresh(self.scroll_to_highlight)

    def scroll_to_highlight(self, top: bool = False) -> None:
        """With the first item, show the heading above it, to which no key leads."""
        if self.highlighted is not None and all(item.disabled for item in self.options[: self.highlighted]):
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        super().scroll_to_highlight(top)


def column(text: str, cells: int) -> str:
    """A text in one line of exactly so many cells; a longer one ends with `…`."""
    return Content(one_line(text)).truncate(cells, ellipsis=True, pad=True).plain
