"""A list of which the highlighted item stays in sight."""

from textual.widgets import OptionList


class ItemList(OptionList):
    """Textual scrolls to it before new items have places, and not where the list gets shorter."""

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        self.call_after_refresh(self.scroll_to_highlight)

    def on_resize(self) -> None:
        self.call_after_refresh(self.scroll_to_highlight)
