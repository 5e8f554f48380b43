"""Conversations in the format of OpenAI's chat API."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, Json, ValidationInfo
from pydantic_core import PydanticCustomError

from app.engine.chat_prompt import Message
from app.server.body import MOST_VALUES, Body

T = TypeVar("T")

MOST_MESSAGES = 10_000
MOST_TOOLS = 256
HINTS = {
    "image": "Could not process image: models read only text here",
    "item_reference": "Nothing is kept here: send the item itself, as the AI SDK does with store: false",
}
"""What to do about parts of a conversation whose type holds a word."""


def types(*read: str) -> AfterValidator:
    """Refuses other types of a conversation's parts. Claude Code looks for the words about an image: it then
    takes images out of its conversation, and goes on.
    """

    def check(kind: str) -> str:
        if kind in read:
            return kind
        hint = next((hint for word, hint in HINTS.items() if word in kind), "Models read only text here")
        raise PydanticCustomError(
            "not_supported", "{kind} is not supported. {hint}", {"kind": repr(kind[:40]), "hint": hint}
        )

    return AfterValidator(check)


class Part(Body):
    type: Annotated[str, types("text", "input_text", "output_text", "reasoning_text", "refusal")]
    text: str = Field(validation_alias=AliasChoices("text", "refusal"))


Content = str | list[Part] | None


def _counted(text: Any, info: ValidationInfo) -> Any:
    """Count values inside texts too, over all calls of a request."""
    if info.context is not None and isinstance(text, str):
        info.context["values"] += text.count("[") + text.count("{")
        if info.context["values"] > MOST_VALUES:
            most = {"most": f"{MOST_VALUES:,}"}
            raise PydanticCustomError(
                "too_long", "the calls have more than {most} lists and objects. Send less", most
            )
    if text and not isinstance(text, str):
        raise PydanticCustomError("no_text", "send them as a text that holds a JSON object")
    return text or "{}"


Arguments = Annotated[Json[dict[str, Any]], BeforeValidator(_counted)]
"""Of a call: a text that holds a JSON object; an empty one holds none."""


class CalledFunction(Body):
    name: str
    arguments: Arguments = {}


class Call(Body):
    id: str | None = None
    function: CalledFunction


class ChatMessage(Body):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content = None
    refusal: str | None = None
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


Messages = Annotated[list[T], Field(min_length=1, max_length=MOST_MESSAGES)]
Tools = Annotated[list[T], Field(max_length=MOST_TOOLS)]


def text_of(content: Content) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.text for part in content)


def described(functions: Iterable[Function]) -> tuple[dict[str, Any], ...]:
    """The functions in OpenAI's format, which chat templates expect."""
    fields = {"name", "description", "parameters"}
    return tuple(
        {"type": "function", "function": function.model_dump(include=fields, exclude_none=True)}
        for function in functions
    )


def for_template(message: ChatMessage) -> Message:
    """The message in the chat template's format."""
    role = "system" if message.role == "developer" else message.role
    named = message.model_dump(include={"name", "tool_call_id"}, exclude_none=True)
    out = Message(role=role, content=text_of(message.content) or message.refusal or "", **named)
    if (thought := message.reasoning_content or message.reasoning) and role == "assistant":
        out["reasoning_content"] = thought
    if message.tool_calls:
        out["tool_calls"] = [
            called(call.id, call.function.name, call.function.arguments) for call in message.tool_calls
        ]
    return out


def called(id: str | None, name: str, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    """A call in the chat template's format."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
