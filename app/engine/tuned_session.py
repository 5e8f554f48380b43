"""A session that measures what drafting costs before its first answer, and keeps what it learns."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.engine import drafting_state
from app.engine.session import Session

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


class TunedSession(Session):
    """Answers with draft lengths that adapt to this machine and to the text."""

    def __init__(self, pair: "LoadedPair") -> None:
        super().__init__(pair)
        self.is_tuned = drafting_state.restore(pair)

    def tune(self, progress: Callable[[int, int], None], skipped: Callable[[], bool]) -> None:
        """Measure what drafting costs here; see `drafting_state.measure`."""
        drafting_state.measure(self._pair, progress, skipped)
        self.keep()
        self.is_tuned = True

    def keep(self) -> None:
        """Write down what the answers so far taught."""
        drafting_state.keep(self._pair)
