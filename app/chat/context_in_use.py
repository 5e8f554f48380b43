"""How many tokens of the context a chat uses: counted by the engine, or estimated until it has read them."""

from dataclasses import dataclass

from app.chat.attachments import CHARACTERS_PER_TOKEN
from app.chat.conversation import Conversation
from app.engine.events import PromptCounted, TextAdded, TurnEnded, TurnEvent


@dataclass
class ContextInUse:
    latest: TurnEvent | None = None
    """The latest event of the answer in progress; None before the first."""
    is_counted: bool = True
    """The engine counted all tokens; otherwise some are estimated from the text length."""
    before: int = 0
    """Tokens before a growing answer."""

    @property
    def tokens(self) -> int:
        return self.before + (self.latest.tokens if isinstance(self.latest, TextAdded) else 0)

    def take(self, event: TurnEvent) -> None:
        match event:
            case PromptCounted(prompt_tokens):
                self.before, self.is_counted = prompt_tokens, True
            case TurnEnded(stats=stats) if stats.prompt_tokens:
                self.before, self.is_counted = stats.prompt_tokens + stats.tokens, True
        self.latest = event

    def count(self, conversation: Conversation, pair: str) -> None:
        """Recount for the branch in view and the named pair.

        Tokens up to the last counted answer are as counted then; the rest is estimated from its length.
        Another pair's count is no less than the estimate: old messages may not have fitted its context.
        """
        tokens, characters, counted_by = 0, len(conversation.chat.system), pair
        for message in conversation.path:
            characters += len(message.text) + sum(len(file.text) for file in message.attachments)
            stats = message.facts and message.facts.stats
            if message.facts is not None and stats is not None and stats.prompt_tokens:
                counted, counted_by = stats.prompt_tokens + stats.tokens, message.facts.pair
                tokens = counted if counted_by == pair else max(counted, tokens + _estimated(characters))
                characters = 0
        self.latest = None
        self.before = tokens + _estimated(characters)
        self.is_counted = characters == 0 and counted_by == pair


def _estimated(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
