"""The numbers of the answer being written, or of the last one, in one line."""

from app.chat.answer_log import AnswerLog
from app.tui.widgets.figures import gauge_items
from app.tui.widgets.item_line import ItemLine


class Gauges(ItemLine):
    """Follows one answer's log."""

    def __init__(self) -> None:
        super().__init__()
        self._answer: AnswerLog | None = None

    def follow(self, log: AnswerLog | None) -> None:
        """Show this answer from now on; nothing for None."""
        self._answer = log
        self.show()

    def show(self) -> None:
        """Bring the numbers up to date."""
        self.items = gauge_items(self._answer) if self._answer else ()
