"""The line that tells the state of the chat: pair, drafting, context, queue."""

from app.tui.widgets.item_line import ItemLine


class StatusLine(ItemLine):
    """Its items come from the chat screen."""
