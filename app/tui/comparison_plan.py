"""From what a person asked to be compared to a plan, with the chat's options and prompts."""

from collections.abc import Sequence
from dataclasses import replace

from app.bench.prompts import BenchPrompt
from app.chat_prompt import Message
from app.comparisons.plan import Plan, plan
from app.comparisons.wish import Wish
from app.errors import BadInput
from mlx_spec.types import Options


def plan_of(wish: Wish, messages: Sequence[Message], options: Options) -> Plan:
    """`messages` are the chat's, its last prompt at the end; none if it has no prompt yet.

    A set's prompts are asked one by one, after the chat's instructions and nothing else.

    Raises:
        BadInput: the last prompt is wanted, and there is none.
    """
    if wish.prompts is None:
        if not messages:
            raise BadInput("There is no prompt to compare yet. Send one first, or give a set: /compare all")
        last = BenchPrompt("last", "chat", messages[-1]["content"])
        prompts: list[tuple[BenchPrompt, Sequence[Message]]] = [(last, messages)]
    else:
        before = [message for message in messages[:1] if message["role"] == "system"]
        prompts = [
            (prompt, [*before, Message(role="user", content=prompt.prompt)]) for prompt in wish.prompts
        ]
    return plan(prompts, wish.drafting, replace(options, stop_tokens=frozenset()), wish.repeats)
