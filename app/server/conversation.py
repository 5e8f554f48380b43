"""Conversations in the format of OpenAI's chat API."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from app.engine.chat_prompt import Message
from app.server.body import Body
from app.server.problem import Problem

MOST_MESSAGES = 10_000
MOST_TOOLS = 256


class Part(Body):
    type: str
    text: str | None = None


Content = str | list[Part] | None


class CalledFunction(Body):
    name: str
    arguments: str = "{}"


class Call(Body):
    id: str | None = None
    function: CalledFunction


class ChatMessage(Body):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content = None
    name: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    """Some clients' name of it."""
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None


class Function(Body):
    """A function that the model may call."""

    name: Annotated[str, Field(min_length=1, max_length=256)]
    description: str | None = None
    parameters: dict[str, Any] | None = Field(
        None, validation_alias=AliasChoices("parameters", "input_schema")
    )


class Tool(Body):
    type: Literal["function"] = "function"
    function: Function


Messages = Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
Tools = Annotated[list[Tool], Field(max_length=MOST_TOOLS)]


def text_of(content: str | Sequence[Part] | None, place: str) -> str:
    """The text of a message's content; Problem for a part that is not text."""
    if content is None or isinstance(content, str):
        return content or ""
    for number, part in enumerate(content):
        if part.text is None or part.type not in ("text", "input_text", "output_text", "reasoning_text"):
            raise not_read(part.type, f"{place}[{number}]")
    return "".join(part.text or "" for part in content)


def not_read(kind: str, place: str) -> Problem:
    """The error for a part of a conversation that is not text.

    Claude Code looks for the words about an image: it then takes images out of its conversation, and goes on.
    """
    why = ". Could not process image: models read only text here" if "image" in kind else ""
    return Problem(400, f"{place} is of type {kind[:40]!r}, which is not supported here{why}.", param=place)


def conversation(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """The messages in the chat template's format."""
    return tuple(_message(message, f"messages[{number}]") for number, message in enumerate(messages))


def described(functions: Iterable[Function]) -> tuple[dict[str, Any], ...]:
    """The functions in OpenAI's format, which chat templates expect."""
    fields = {"name", "description", "parameters"}
    return tuple(
        {"type": "function", "function": function.model_dump(include=fields, exclude_none=True)}
        for function in functions
    )


def _message(message: ChatMessage, place: str) -> Message:
    role = "system" if message.role == "developer" else message.role
    out = Message(role=role, content=text_of(message.content, f"{place}.content"))
    if message.name is not None:
        out["name"] = message.name
    if message.tool_call_id is not None:
        out["tool_call_id"] = message.tool_call_id
    if (thought := message.reasoning_content or message.reasoning) and role == "assistant":
        out["reasoning_content"] = thought
    if message.tool_calls:
        out["tool_calls"] = [
            called(
                call.id,
                call.function.name,
                arguments_of(call.function.arguments, f"{place}.tool_calls[{number}].function.arguments"),
            )
            for number, call in enumerate(message.tool_calls)
        ]
    return out


def called(id: str | None, name: str, arguments: Any) -> dict[str, Any]:  # noqa: A002
    """A call in the chat template's format."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def arguments_of(text: str, place: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(text or "{}"), dict):
            return found
    raise Problem(400, f"{place} is no JSON object.", param=place)
