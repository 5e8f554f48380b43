"""A list of which the highlighted item stays in sight."""

from textual.widgets import OptionList


class ItemList(OptionList):
    """Textual scrolls to it before new items have places, and not where the list gets shorter; it fails on
    keys that turn pages before there are any (8.2.8)."""

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        self.call_after_refresh(self.scroll_to_highlight)

    def on_resize(self) -> None:
        self.call_after_refresh(self.scroll_to_highlight)

    def action_page_up(self) -> None:
        if self.size:
            super().action_page_up()

    def action_page_down(self) -> None:
        if self.size:
            super().action_page_down()
