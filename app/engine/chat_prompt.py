"""A conversation as token ids that fit the context: chat template, oldest turns left out if needed."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from app.engine.marks import ANALYSIS, CHANNEL, FINAL
from app.engine.message import Message, plainer_ones
from app.settings.options import AUTO, LEVELS
from app.shell.errors import BadField

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

NO_VALUES: Mapping[str, Any] = {}
THINKS = "enable_thinking"
"""The variable by which a model thinks or not; mlx-lm knows other names of it."""
EFFORT = "reasoning_effort"
"""The variable of how much it thinks."""
CONTINUES = "--raw does it on the command line, /v1/completions on a server."


def by_think(think: str) -> dict[str, Any]:
    """`AnswerOptions.think` as the chat template's variables: a switch under both its names, or a level."""
    if think in ("on", "off"):
        return {THINKS: think == "on", "thinking": think == "on"}
    return {} if think == AUTO else {EFFORT: think}


def values_for(think: str, own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The chat template's variables: a request's own over those of `think`. A level alone, which many clients
    always send, leaves a switch as `think` has it, and one that is switched on leaves a level.
    """
    switches = [own[name] for name in by_think("off") if name in own]
    if switches and not (think in LEVELS and all(switches)):
        return own
    return {**by_think(think), **own}


class CancelledWhileReading(Exception):
    """The request was cancelled while its prompt was being built."""


@dataclass(frozen=True, slots=True)
class FillIn:
    """The text before and after the gap to fill."""

    before: str
    after: str


Prompt = str | Sequence[int] | FillIn | Sequence[Message]
"""Text and token ids are continued as they are, a gap is filled, messages go through the chat template."""


def raw_ids(tokenizer: "TokenizerWrapper", text: str) -> list[int]:
    """Token ids of text as it is, with the tokenizer's own beginning-of-text token if it has one."""
    begin: str | None = tokenizer.bos_token
    ids = list(tokenizer.encode(text, add_special_tokens=begin is None or not text.startswith(begin)))
    if not ids:
        raise BadField("prompt", "The prompt is empty. Give the model at least one character to continue.")
    return ids


def chat_ids(
    tokenizer: "TokenizerWrapper",
    messages: Sequence[Message],
    room: int,
    cancelled: Callable[[], bool] = lambda: False,
    tools: Sequence[dict[str, Any]] = (),
    values: Mapping[str, Any] = NO_VALUES,
) -> tuple[list[int], int]:
    """Token ids of the conversation, and the number of oldest messages left out to fit `room` tokens.

    Leading system messages and the last message always stay; whole turns are dropped, so the rest begins
    with a user's message. If even that is too long, it is returned as it is.

    Args:
        values: the chat template's variables, by name; those that it does not have are left out, and a level
            that it refuses.
    """
    try:
        ids = _templated(tokenizer, messages, tools, values)
    except BadField:
        if EFFORT not in values:
            raise
        values = {name: value for name, value in values.items() if name != EFFORT}
        ids = _templated(tokenizer, messages, tools, values)
    head = next((place for place, one in enumerate(messages) if one["role"] != "system"), len(messages))
    cuts = [place for place in range(head + 1, len(messages)) if messages[place]["role"] == "user"]
    if len(ids) <= room or not cuts:
        return ids, 0

    @cache
    def ids_from(cut: int) -> list[int]:
        if cancelled():
            raise CancelledWhileReading
        return _templated(tokenizer, [*messages[:head], *messages[cut:]], tools, values)

    # Bisection: every try tokenizes all the rest, so turn by turn a long conversation would take minutes.
    fits = bisect_left(cuts, True, hi=len(cuts) - 1, key=lambda cut: len(ids_from(cut)) <= room)
    return ids_from(cuts[fits]), cuts[fits] - head


def thinks(tokenizer: "TokenizerWrapper") -> tuple[str, ...]:
    """The values of `AnswerOptions.think` that the chat template obeys."""

    def prompt(think: str) -> list[int]:
        try:
            return _templated(tokenizer, [Message(role="user", content="Hi")], (), by_think(think))
        except BadField:
            return []

    switch = ("on", "off") if prompt("on") != prompt("off") else ()
    levels = {level: ids for level in LEVELS if (ids := prompt(level))}  # many templates refuse some
    own = prompt(AUTO)
    return (AUTO, *switch, *(levels if any(ids != own for ids in levels.values()) else ()))


def _templated(
    tokenizer: "TokenizerWrapper",
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]],
    values: Mapping[str, Any],
) -> list[int]:
    if not tokenizer.has_chat_template:
        raise BadField(
            "prompt", f"This model has no chat template, so it cannot chat. It continues texts: {CONTINUES}"
        )
    source = str(tokenizer.chat_template)
    has_channels = ANALYSIS in source
    more = {name: value for name, value in values.items() if name in source or name == THINKS}
    if has_channels:  # its template fails at a tool without a description
        tools = [{**tool, "function": {"description": "", **tool["function"]}} for tool in tools]
    if tools:
        more["tools"] = list(tools)
    refused: Exception | None = None
    accepted: list[int] | None = None
    for plainer in plainer_ones(messages):
        given = [_for_template(message, has_channels=has_channels) for message in plainer]
        try:
            ids = list(tokenizer.apply_chat_template(given, add_generation_prompt=True, **more))
            if not ids:
                raise ValueError("it makes an empty prompt of it")
        except MemoryError:
            raise
        except Exception as error:  # templates, also those in Python, fail in any way
            refused = refused or error
        else:
            if not _leaves_out(plainer, ids, tokenizer):
                return ids
            accepted = accepted or ids
    if accepted:
        return accepted
    why = (str(refused) or type(refused).__name__).rstrip(".!")
    raise BadField(
        "prompt",
        f"The model's chat template refuses this conversation: {why}. "
        f"Change its messages, or let the model continue a text: {CONTINUES}",
    ) from refused


def _leaves_out(messages: Sequence[Message], ids: Sequence[int], tokenizer: "TokenizerWrapper") -> bool:
    """Whether instructions between the messages are not in the prompt: the templates of gpt-oss and MiniMax
    read them only at the beginning, and ignore others.
    """
    later = [message["content"].strip() for message in messages[1:] if message["role"] == "system"]
    if not later:
        return False
    text = tokenizer.decode(list(ids))
    return not all(instructions in text for instructions in later)


def _for_template(message: Message, *, has_channels: bool) -> dict[str, Any]:
    """The message with both names that templates have for a thought. gpt-oss' template refuses channels in
    the content, where chats have them, and text beside a thought and calls.
    """
    given: dict[str, Any] = dict(message)
    if "reasoning_content" in message:
        given["thinking"] = message["reasoning_content"]
        if has_channels and "tool_calls" in message:
            given["content"] = ""
    if has_channels and message["role"] == "assistant" and message["content"].startswith(CHANNEL):
        given["content"] = message["content"].partition(FINAL)[2]
    return given
