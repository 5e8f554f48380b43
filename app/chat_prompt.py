"""A conversation as token ids that fit the model: chat template, and oldest turns left out if need be."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from app.errors import BadInput

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper


class Message(TypedDict):
    """One message of a conversation."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


def raw_ids(tokenizer: "TokenizerWrapper", text: str) -> list[int]:
    """Token ids of text as it stands, with the tokenizer's own beginning-of-text token if it has one.

    Raises:
        BadInput: there is nothing to begin from.
    """
    begin: str | None = tokenizer.bos_token
    ids = list(tokenizer.encode(text, add_special_tokens=begin is None or not text.startswith(begin)))
    if not ids:
        raise BadInput("The prompt is empty. Give the model at least one character to continue.")
    return ids


def chat_ids(tokenizer: "TokenizerWrapper", messages: Sequence[Message], room: int) -> tuple[list[int], int]:
    """Token ids of the conversation, and how many of its oldest messages had to be left out.

    System messages at the beginning and the last message always stay; turns go whole, so what is
    left begins with a user's message. If even that is longer than `room`, it is returned as it is.

    Raises:
        BadInput: no chat template, or the template refuses the conversation.
    """
    kept, dropped = list(messages), 0
    ids = _templated(tokenizer, kept)
    while len(ids) > room and (turn := _oldest_turn(kept)) is not None:
        dropped += turn.stop - turn.start
        del kept[turn]
        ids = _templated(tokenizer, kept)
    return ids, dropped


def _oldest_turn(messages: Sequence[Message]) -> slice | None:
    """Where the oldest turn lies that may go; None if only the last one is left."""
    start = 0
    while start < len(messages) and messages[start]["role"] == "system":
        start += 1
    for stop in range(start + 1, len(messages)):
        if messages[stop]["role"] == "user":
            return slice(start, stop)
    return None


def _templated(tokenizer: "TokenizerWrapper", messages: Sequence[Message]) -> list[int]:
    from jinja2.exceptions import TemplateError

    if not tokenizer.has_chat_template:
        raise BadInput("This model has no chat template, so it cannot chat. Use `generate --raw`.")
    try:
        return list(tokenizer.apply_chat_template(list(messages), add_generation_prompt=True))
    except TemplateError as error:
        raise BadInput(f"The model's chat template refuses this conversation: {error}") from error
