"""A set of prompts as token ids, all before the first is answered: nothing is measured in vain."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.compare.bench.prompts import BenchPrompt
from app.engine.chat_prompt import Message
from app.engine.session import Session
from app.shell.errors import BadInput

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


def prompt_ids(
    pair: "LoadedPair", prompts: Sequence[BenchPrompt], max_tokens: int, raw: bool
) -> list[list[int]]:
    """The token ids of every prompt.

    Raises:
        BadInput: one cannot be used or leaves no room for an answer; the message has its id.
    """
    session = Session(pair)
    found: list[list[int]] = []
    for prompt in prompts:
        asked = prompt.prompt if raw else [Message(role="user", content=prompt.prompt)]
        ids, _ = session.prompt_ids(asked, max_tokens)
        if len(ids) >= pair.context_limit:
            raise BadInput(
                f"The prompt {prompt.id} has {len(ids)} tokens and the model's context holds "
                f"{pair.context_limit}. Shorten it."
            )
        found.append(ids)
    return found
