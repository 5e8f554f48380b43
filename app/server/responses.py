"""`POST /v1/responses`: OpenAI's newer API, without what needs stored responses."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from starlette.requests import Request
from starlette.responses import Response

from app.engine.chat_prompt import Message
from app.engine.events import TextAdded, ToolCall, TurnEnded
from app.engine.protocol import Answer
from app.server.answering import new_id, respond, server_sent
from app.server.body import Body, only
from app.server.conversation import (
    MOST_MESSAGES,
    MOST_TOOLS,
    ChatMessage,
    Content,
    Function,
    arguments_of,
    called,
    conversation,
    described,
    not_read,
    text_of,
)
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import Sampling, read_asked
from app.server.service import now
from app.server.usage import timings, usage

LOGPROBS = "message.output_text.logprobs"
NOTHING_KEPT = only("", hint=". Nothing is kept here: send the whole conversation as input")


class Item(Body):
    """A message, a tool call or a tool's result; the fields used depend on the type."""

    type: str = "message"
    role: str | None = None
    content: Content = None
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""
    output: Content = None


class ResponseTool(Function):
    type: str
    name: str = ""


class Text(Body):
    format: Annotated[Any, only({"type": "text"})] = None


def _without_logprobs(value: list[str]) -> list[str]:
    if LOGPROBS in value:
        raise PydanticCustomError("not_supported", f"{LOGPROBS} is not supported here. Leave it out")
    return value


class ResponsesRequest(Sampling):
    input: str | Annotated[list[Item], Field(min_length=1, max_length=MOST_MESSAGES)]
    instructions: str | None = None
    max_output_tokens: int | None = None
    tools: Annotated[list[ResponseTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: Annotated[Any, only("auto", "none")] = None
    text: Text | None = None
    previous_response_id: Annotated[Any, NOTHING_KEPT] = None
    conversation: Annotated[Any, NOTHING_KEPT] = None
    background: Annotated[Any, only(False)] = None
    top_logprobs: Annotated[Any, only(0)] = None
    include: Annotated[list[str], AfterValidator(_without_logprobs)] | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        messages = [Message(role="system", content=self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return (*messages, Message(role="user", content=self.input))
        for number, item in enumerate(self.input):
            for message in _messages(item, f"input[{number}]"):
                if (calls := message.get("tool_calls")) and messages and messages[-1]["role"] == "assistant":
                    # Items of one answer: templates expect its text and calls in one message.
                    messages[-1]["tool_calls"] = [*messages[-1].get("tool_calls", ()), *calls]
                else:
                    messages.append(message)
        return tuple(messages)


async def responses(request: Request) -> Response:
    served, body = await read_asked(request, ResponsesRequest)
    # Tools of other types run at OpenAI; the model does not get them.
    tools = [tool for tool in body.tools or () if tool.type == "function" and body.tool_choice != "none"]
    options = body.options(served.defaults, body.max_output_tokens)
    asks = [Answer(0, body.messages, options, tools=described(tools), whole=True)]
    return await respond(request, served.queue, asks, ResponsesWriter(served.name), stream=bool(body.stream))


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
            return ()  # of earlier answers; templates leave it out too
        case "item_reference":
            why = "Nothing is kept here: send the item itself, as the AI SDK does with store: false."
            raise Problem(400, f"{place} refers to an earlier response. {why}", param=place)
    raise not_read(item.type, place)


class ResponsesWriter:
    def __init__(self, model: str) -> None:
        self._head = {
            "id": new_id("resp_"),
            "object": "response",
            "created_at": now(),
            "model": model,
            "error": None,
            "incomplete_details": None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        self._message_id = new_id("msg_")
        self._sequence = -1
        self._text = ""
        self._output: list[dict[str, Any]] = []
        self._done: dict[str, Any] = {}

    def whole(self, answers: Sequence[tuple[str, QueuedRequest, TurnEnded]]) -> dict[str, Any]:
        ((text, asked, ended),) = answers
        message = [self._message(text)] if text or not ended.tool_calls else []
        return self._response(asked, ended, [*message, *map(_call, ended.tool_calls)])

    def begin(self) -> Iterable[str]:
        nothing = {**self._head, "status": "in_progress", "output": [], "usage": None}
        yield self._event("response.created", response=nothing)
        yield self._event("response.in_progress", response=nothing)

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        if not self._text:
            opened = {**self._message(""), "status": "in_progress", "content": []}
            yield self._event("response.output_item.added", output_index=0, item=opened)
            yield self._part("response.content_part.added", part=_output_text(""))
        self._text += added.text
        yield self._part("response.output_text.delta", delta=added.text, logprobs=[])

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
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

    def _response(
        self, asked: QueuedRequest, ended: TurnEnded, output: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
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
        return server_sent({"type": name, "sequence_number": self._sequence, **fields}, name)


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": new_id("fc_"),
        "type": "function_call",
        "status": "completed",
        "call_id": new_id("call_"),
        "name": call.name,
        "arguments": call.arguments,
    }
