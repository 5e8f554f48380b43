"""From what a person asked to be compared to a plan, with the chat's options and prompts."""

from dataclasses import replace

from app.chat.conversation import Conversation
from app.compare.bench.prompts import BenchPrompt
from app.compare.plan import Plan, Question, plan
from app.compare.wish import Wish
from app.engine.chat_prompt import Message
from app.shell.errors import BadInput
from mlx_spec.types import Options


def plan_of(wish: Wish, conversation: Conversation, options: Options) -> Plan:
    """The last prompt of the branch in view is asked as the chat asks it, attached files and all.

    A set's prompts are asked one by one, after the chat's instructions and nothing else.

    Raises:
        BadInput: the last prompt is wanted, and there is none.
    """
    if wish.prompts is None:
        questions = [_last(conversation)]
    else:
        before = [Message(role="system", content=conversation.system)] if conversation.system else []
        questions = [
            Question(prompt, (*before, Message(role="user", content=prompt.prompt)))
            for prompt in wish.prompts
        ]
    return plan(questions, wish.drafting, replace(options, stop_tokens=frozenset()), wish.repeats)


def _last(conversation: Conversation) -> Question:
    asked = conversation.last
    if asked is None:
        raise BadInput("There is no prompt to compare yet. Send one first, or give a set: /compare all")
    files = ", ".join(file.name for file in asked.attachments)
    told = f"{asked.text} (with {files})" if files else asked.text
    return Question(
        BenchPrompt("last", "chat", told),
        tuple(conversation.messages(asked)),
        tuple(conversation.documents(asked)),
    )
