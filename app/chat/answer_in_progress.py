"""The answer being written, and its final value."""

from dataclasses import dataclass, replace

from app.chat.answer_log import AnswerLog
from app.engine.events import TextAdded, TurnEnded
from app.history.records import ChatMessage, Finish, marks_of


@dataclass(eq=False)
class AnswerInProgress:
    """Grows with its log; `message` gives its value to save at any moment."""

    id: int
    prompt: ChatMessage
    before: ChatMessage
    """The answer at the start; it has text if an answer is continued."""
    log: AnswerLog
    max_tokens: int
    """Limit for this request; a continued answer's earlier tokens do not count."""
    unsaved: bool = False
    """It has grown since the last save."""
    stopping: bool = False
    """The person stopped it: text that arrives later is neither shown nor kept."""

    @property
    def has_grown(self) -> bool:
        return len(self.log.text) > len(self.before.text)

    def add(self, event: TextAdded) -> None:
        self.unsaved = True
        self.log.take(event)

    def ended(self, finish: Finish, event: TurnEnded | None = None) -> ChatMessage:
        """The final answer; its stats, if the engine sent any, include a continued answer's first part."""
        message, before = self.message(finish), self.log.before
        assert message.facts is not None
        options = replace(
            message.facts.options, max_tokens=self.max_tokens + (before.tokens if before else 0)
        )
        rounds, stats = tuple(self.log.rounds), event.stats if event else None
        return replace(message, facts=replace(message.facts, options=options, rounds=rounds, stats=stats))

    def message(self, finish: Finish | None = None) -> ChatMessage:
        assert self.before.facts is not None
        facts = replace(self.before.facts, finish=finish, stats=None, marks=marks_of(self.log.pieces))
        return replace(self.before, text=self.log.text, facts=facts)
