"""What happened, as messages between the engine link, the screens and the widgets."""

from textual.message import Message

from app.compare.record import Record
from app.engine.difference import Difference
from app.engine.events import PairInfo, TurnEvent
from app.engine.protocol import Tuning, TuningEnded


class PairLoading(Message):
    """The engine process began to open a pair."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class PairLoaded(Message):
    """The engine process has the pair in memory."""

    def __init__(self, info: PairInfo) -> None:
        super().__init__()
        self.info = info


class PairTuning(Message):
    """The engine measures what drafting costs with the pair, or has ended that."""

    def __init__(self, event: Tuning | TuningEnded) -> None:
        super().__init__()
        self.event = event


class PairFailed(Message):
    """The pair could not be opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class EngineDied(Message):
    """The engine process ended without being asked to."""

    def __init__(self, text: str, *, while_answering: bool) -> None:
        super().__init__()
        self.text = text
        self.while_answering = while_answering
        """Whoever waited for an answer has a `TurnFailed` that says the same."""


class TurnAdvanced(Message, bubble=False):
    """One event of an answer, sent to the screen that asked for it."""

    def __init__(self, turn_id: int, event: TurnEvent) -> None:
        super().__init__()
        self.turn_id = turn_id
        self.event = event


class DifferenceFound(Message, bubble=False):
    """Where two answers part, sent to the screen that asked for it."""

    def __init__(self, turn_id: int, difference: Difference | None) -> None:
        super().__init__()
        self.turn_id = turn_id
        self.difference = difference


class TurnFailed(Message, bubble=False):
    """An answer ended without a result, sent to the screen that asked for it."""

    def __init__(self, turn_id: int, text: str, reason: str = "") -> None:
        super().__init__()
        self.turn_id = turn_id
        self.text = text
        self.reason = reason or text
        """The text without what comes next."""


class PromptSubmitted(Message):
    """The person pressed Enter on a prompt or a command."""

    def __init__(self, text: str, *, at_once: bool = False) -> None:
        super().__init__()
        self.text = text
        self.at_once = at_once
        """It takes the place of the answer in progress."""


class CommandChosen(Message):
    """A command was picked from the completion list."""

    def __init__(self, name: str, *, takes_value: bool) -> None:
        super().__init__()
        self.name = name
        self.takes_value = takes_value


class ComparisonEnded(Message):
    """A comparison ran to its end; the text sums it up in one line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ComparisonChosen(Message):
    """A kept comparison was picked from their list, to be shown."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record
