"""How much of the context a chat takes that the engine has not read yet."""

from app.chat.attachments import CHARACTERS_PER_TOKEN
from app.chat.conversation import Conversation


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
