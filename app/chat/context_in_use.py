"""How much of the context a chat takes: counted by the engine, or guessed where it has not read it yet."""

from app.chat.attachments import CHARACTERS_PER_TOKEN
from app.chat.conversation import Conversation
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded, TurnEvent


class ContextInUse:
    """Follows the events of the answer in progress."""

    def __init__(self) -> None:
        self.latest: PrefillProgressed | TextAdded | TurnEnded | None = None
        """The last event with numbers; None before an answer's first."""
        self.is_counted = True
        """The engine counted the tokens; without that they are guessed by the texts' length."""
        self._before = 0
        """Tokens in use, those of a growing answer left out."""

    @property
    def tokens(self) -> int:
        return self._before + (self.latest.tokens if isinstance(self.latest, TextAdded) else 0)

    def count(self, conversation: Conversation, pair: str) -> None:
        """Begin anew with the branch in view, as the pair of this name reads it."""
        self.latest = None
        self._before, self.is_counted = context_in_use(conversation, pair)

    def take(self, event: TurnEvent | None) -> None:
        """Keep an event's numbers; None: an answer begins."""
        match event:
            case PrefillProgressed(total=total):
                self._before, self.is_counted = total, True
            case TurnEnded(stats=stats):
                self._before, self.is_counted = stats.prompt_tokens + stats.tokens, True
            case TextAdded() | None:
                pass
            case _:
                return
        self.latest = event


def context_in_use(conversation: Conversation, pair: str) -> tuple[int, bool]:
    """Tokens of the branch in view, and whether they were counted as the pair of this name counts them.

    Those up to its last counted answer were, by that answer's pair; what follows is guessed by its length.
    """
    tokens, characters, counted_by = 0, len(conversation.system), pair
    for message in conversation.path:
        if message.facts is not None and message.facts.stats is not None:
            tokens = message.facts.stats.prompt_tokens + message.facts.stats.tokens
            characters, counted_by = 0, message.facts.pair
        else:
            characters += len(message.text) + sum(len(file.text) for file in message.attachments)
    return tokens + -(-characters // CHARACTERS_PER_TOKEN), characters == 0 and counted_by == pair
