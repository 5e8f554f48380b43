"""How much of the context a chat takes: counted by the engine, or guessed where it has not read it yet."""

from dataclasses import dataclass

from app.chat.attachments import CHARACTERS_PER_TOKEN
from app.chat.conversation import Conversation
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded, TurnEvent


@dataclass
class ContextInUse:
    latest: TurnEvent | None = None
    """The last event of the answer in progress with numbers; None before its first."""
    is_counted: bool = True
    """The engine counted the tokens; without that they are guessed by the texts' length."""
    before: int = 0
    """Tokens without those of a growing answer."""

    @property
    def tokens(self) -> int:
        return self.before + (self.latest.tokens if isinstance(self.latest, TextAdded) else 0)

    def take(self, event: TurnEvent) -> None:
        match event:
            case PrefillProgressed(total=total):
                self.before, self.is_counted = total, True
            case TurnEnded(stats=stats) if stats.prompt_tokens:
                self.before, self.is_counted = stats.prompt_tokens + stats.tokens, True
            case _:
                pass
        self.latest = event

    def count(self, conversation: Conversation, pair: str) -> None:
        """Begin anew with the branch in view, as the pair of this name reads it.

        The pair of the last counted answer counted the tokens up to it; the rest is guessed by its length.
        """
        tokens, characters, counted_by = 0, len(conversation.chat.system), pair
        for message in conversation.path:
            stats = message.facts and message.facts.stats
            if message.facts is not None and stats is not None and stats.prompt_tokens:
                tokens = stats.prompt_tokens + stats.tokens
                characters, counted_by = 0, message.facts.pair
            else:
                characters += len(message.text) + sum(len(file.text) for file in message.attachments)
        self.latest = None
        self.before = tokens + -(-characters // CHARACTERS_PER_TOKEN)
        self.is_counted = characters == 0 and counted_by == pair
