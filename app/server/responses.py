"""`POST /v1/responses`: OpenAI's newer API, as far as it keeps nothing."""

import json
import secrets
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from app.engine.chat_prompt import Message
from app.engine.events import ToolCall, TurnEnded
from app.engine.protocol import Answer
from app.server.answering import respond
from app.server.body import Body, read_body
from app.server.conversation import (
    MOST_MESSAGES,
    MOST_TOOLS,
    ChatMessage,
    Content,
    arguments_of,
    called,
    conversation,
    text_of,
)
from app.server.line import Asked
from app.server.problem import Problem
from app.server.sampling import Sampling, refuse
from app.server.service import now, service
from app.server.usage import timings, usage

LOGPROBS = "message.output_text.logprobs"


class Item(Body):
    """A message, a call of a tool or what it gave back; which fields there are depends on the type."""

    type: str = "message"
    role: str | None = None
    content: Content = None
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""
    output: Content = None


class ResponseTool(Body):
    type: str
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Format(Body):
    type: str


class Text(Body):
    format: Format | None = None


class ResponsesRequest(Sampling):
    input: str | Annotated[list[Item], Field(min_length=1, max_length=MOST_MESSAGES)]
    instructions: str | None = None
    max_output_tokens: int | None = None
    tools: Annotated[list[ResponseTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Any = None
    text: Text | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    background: bool | None = None
    top_logprobs: int | None = None
    include: list[str] | None = None

    def refused(self) -> None:
        form = self.text.format.type if self.text and self.text.format else "text"
        refuse(
            {
                "previous_response_id": (None, not self.previous_response_id),
                "conversation": (None, not self.conversation),
            },
            " Nothing is kept here: send the whole conversation as input.",
        )
        refuse(
            {
                "background": (None, not self.background),
                "top_logprobs": (self.top_logprobs, not self.top_logprobs),
                "include": (LOGPROBS, LOGPROBS not in (self.include or ())),
                "text.format": (form, form == "text"),
                "tool_choice": (self.tool_choice, self.tool_choice in (None, "auto", "none")),
            }
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        said = [Message(role="system", content=self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return (*said, Message(role="user", content=self.input))
        for number, item in enumerate(self.input):
            said += _messages(item, f"input[{number}]")
        return tuple(said)

    @property
    def tool_descriptions(self) -> tuple[dict[str, Any], ...]:
        """Functions only: of a tool of another kind, which OpenAI runs itself, the model is not told."""
        if self.tool_choice == "none":
            return ()
        return tuple(
            {"type": "function", "function": tool.model_dump(exclude_none=True, exclude={"type"})}
            for tool in self.tools or ()
            if tool.type == "function"
        )


async def responses(request: Request) -> Response:
    served, body = service(request), await read_body(request, ResponsesRequest)
    served.check_model(body.model)
    body.refused()
    options = body.options(served.defaults, body.max_output_tokens)
    ask = Answer(0, body.messages, options, tools=body.tool_descriptions, whole=True)
    writer = ResponsesWriter(served.name)
    return await respond(request, served.line, [ask], writer, stream=bool(body.stream))


def _messages(item: Item, place: str) -> Iterable[Message]:
    match item.type:
        case "message":
            role = item.role or "user"
            if role not in ("system", "developer", "user", "assistant"):
                raise Problem(400, f"{place}.role is {role[:40]!r}.", param=f"{place}.role")
            text = text_of(item.content, f"{place}.content")
            return conversation([ChatMessage(role=role, content=text)])
        case "function_call":
            call = called(item.call_id, item.name or "", arguments_of(item.arguments, f"{place}.arguments"))
            return (Message(role="assistant", content="", tool_calls=[call]),)
        case "function_call_output":
            given = text_of(item.output, f"{place}.output")
            return (Message(role="tool", content=given, tool_call_id=item.call_id or ""),)
        case "reasoning":
            return ()  # of earlier answers: templates leave it out too
    raise Problem(400, f"{place} is of type {item.type[:40]!r}, which is not read here.", param=place)


class ResponsesWriter:
    def __init__(self, model: str) -> None:
        self._head = {
            "id": f"resp_{secrets.token_hex(12)}",
            "object": "response",
            "created_at": now(),
            "model": model,
            "error": None,
            "incomplete_details": None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        self._message_id = f"msg_{secrets.token_hex(12)}"
        self._sequence = -1
        self._text = ""
        self._output: list[dict[str, Any]] = []
        self._done: dict[str, Any] = {}

    def whole(self, answers: Sequence[tuple[str, Asked, TurnEnded]]) -> dict[str, Any]:
        ((text, asked, ended),) = answers
        message = [self._message(text)] if text or not ended.tool_calls else []
        return self._response(asked, ended, [*message, *map(_call, ended.tool_calls)])

    def begin(self) -> Iterable[str]:
        nothing = {**self._head, "status": "in_progress", "output": [], "usage": None}
        yield self._event("response.created", response=nothing)
        yield self._event("response.in_progress", response=nothing)

    def text(self, index: int, text: str) -> Iterable[str]:
        if not self._text:
            opened = {**self._message(""), "status": "in_progress", "content": []}
            yield self._event("response.output_item.added", output_index=0, item=opened)
            yield self._part("response.content_part.added", part=_output_text(""))
        self._text += text
        yield self._part("response.output_text.delta", delta=text, logprobs=[])

    def ended(self, index: int, asked: Asked, ended: TurnEnded) -> Iterable[str]:
        if self._text:
            message = self._message(self._text)
            yield self._part("response.output_text.done", text=self._text, logprobs=[])
            yield self._part("response.content_part.done", part=_output_text(self._text))
            yield self._event("response.output_item.done", output_index=0, item=message)
            self._output.append(message)
        for call in map(_call, ended.tool_calls):
            at = len(self._output)
            opened = {**call, "status": "in_progress", "arguments": ""}
            place = {"item_id": call["id"], "output_index": at}
            yield self._event("response.output_item.added", output_index=at, item=opened)
            yield self._event("response.function_call_arguments.delta", **place, delta=call["arguments"])
            yield self._event("response.function_call_arguments.done", **place, arguments=call["arguments"])
            yield self._event("response.output_item.done", output_index=at, item=call)
            self._output.append(call)
        self._done = self._response(asked, ended, self._output)

    def end(self) -> Iterable[str]:
        yield self._event(f"response.{self._done['status']}", response=self._done)

    def failed(self, problem: Problem) -> Iterable[str]:
        error = {"code": problem.code or "server_error", "message": problem.message}
        failed = {**self._head, "status": "failed", "error": error, "output": [], "usage": None}
        yield self._event("response.failed", response=failed)

    def _response(self, asked: Asked, ended: TurnEnded, output: Sequence[dict[str, Any]]) -> dict[str, Any]:
        counted = usage([(asked, ended)])
        cut = ended.finish_reason == "length"
        return {
            **self._head,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": list(output),
            "usage": {
                "input_tokens": counted["prompt_tokens"],
                "input_tokens_details": counted["prompt_tokens_details"],
                "output_tokens": counted["completion_tokens"],
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": counted["total_tokens"],
            },
            "timings": timings(ended),
        }

    def _message(self, text: str) -> dict[str, Any]:
        return {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [_output_text(text)],
        }

    def _part(self, name: str, **fields: Any) -> str:
        return self._event(name, item_id=self._message_id, output_index=0, content_index=0, **fields)

    def _event(self, name: str, **fields: Any) -> str:
        self._sequence += 1
        value = {"type": name, "sequence_number": self._sequence, **fields}
        return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"fc_{secrets.token_hex(12)}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{secrets.token_hex(12)}",
        "name": call.name,
        "arguments": call.arguments,
    }
