"""The answer that is being written, and its value when it ends."""

from dataclasses import dataclass, replace

from app.chat.answer_log import AnswerLog
from app.engine.events import TextAdded, TurnEnded
from app.history.records import ChatMessage, Finish, marks_of
from mlx_spec.stats import joined


@dataclass(eq=False)
class AnswerInProgress:
    """Grows with its log; `message` is its value to save at any moment."""

    id: int
    prompt: ChatMessage
    before: ChatMessage
    """As it was when this began; it has text if an answer is continued."""
    log: AnswerLog
    max_tokens: int
    """May come, after those that are there if an answer is continued."""
    unsaved: bool = False
    """It has grown since `message` was taken to be saved."""
    stopping: bool = False
    """The person asked for its end: what arrives from now on is not shown and not kept."""

    @property
    def text(self) -> str:
        return self.log.text

    @property
    def has_grown(self) -> bool:
        return len(self.text) > len(self.before.text)

    @property
    def message(self) -> ChatMessage:
        return self._message(None)

    def add(self, event: TextAdded) -> None:
        self.unsaved = True
        self.log.take(event)

    def ended(self, finish: Finish, event: TurnEnded | None = None) -> ChatMessage:
        """The answer's final value, with its numbers if the engine sent them; a first part's are in them."""
        message = self._message(finish)
        assert message.facts is not None and self.before.facts is not None
        rounds = tuple(self.log.rounds)
        stats, before = event.stats if event else None, self.before.facts.stats
        allowed = self.max_tokens
        if stats is not None and before is not None:
            stats = joined(before, stats, rounds)
            allowed += before.tokens
        options = replace(message.facts.options, max_tokens=allowed)
        return replace(message, facts=replace(message.facts, options=options, stats=stats, rounds=rounds))

    def _message(self, finish: Finish | None) -> ChatMessage:
        assert self.before.facts is not None
        facts = replace(self.before.facts, finish=finish, stats=None, marks=marks_of(self.log.pieces))
        return replace(self.before, text=self.text, facts=facts)
