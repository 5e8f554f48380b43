"""A list that keeps its highlighted item in view."""

from textual.widgets import OptionList


class ItemList(OptionList):
    """Textual scrolls to it before new items are laid out, and not when the list gets shorter."""

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        self.call_after_refresh(self.scroll_to_highlight)

    def on_resize(self) -> None:
        self.call_after_refresh(self.scroll_to_highlight)
