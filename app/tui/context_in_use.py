"""How much of the context a chat takes that the engine has not read yet."""

from app.attachments import CHARACTERS_PER_TOKEN
from app.tui.conversation import Conversation


def context_in_use(conversation: Conversation) -> tuple[int, bool]:
    """Tokens of the branch in view, and whether they were counted.

    Those up to its last counted answer were; what follows is guessed by its length.
    """
    tokens, characters = 0, len(conversation.system)
    for message in conversation.path:
        if message.facts is not None and message.facts.stats is not None:
            tokens = message.facts.stats.prompt_tokens + message.facts.stats.tokens
            characters = 0
        else:
            characters += len(message.text) + sum(len(file.text) for file in message.attachments)
    return tokens + -(-characters // CHARACTERS_PER_TOKEN), characters == 0
