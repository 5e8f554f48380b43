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
from app.server.answering import Whole, new_id, respond, server_sent
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
from app.server.sampling import Sampling, Tokens, read_asked
from app.server.service import now
from app.server.usage import timings, usage

SEALED = "reasoning.encrypted_content"
"""Codex and others send a thought back only in this field."""
OUR_SEAL = "mlx-spec:"
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
    encrypted_content: str | None = None


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
    max_output_tokens: Tokens | None = None
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
                last = messages[-1] if messages and messages[-1]["role"] == "assistant" else None
                # Items of one answer: templates expect its thought, text and calls in one message.
                if last and (calls := message.get("tool_calls")):
                    last["tool_calls"] = [*last.get("tool_calls", ()), *calls]
                elif last and message["role"] == "assistant" and _is_thought(last):
                    last["content"] = message["content"]
                else:
                    messages.append(message)
        return tuple(message for message in messages if not _is_thought(message))


def _is_thought(message: Message) -> bool:
    """Whether the message has a thought only."""
    return "reasoning_content" in message and not message["content"] and "tool_calls" not in message


async def responses(request: Request) -> Response:
    served, body = await read_asked(request, ResponsesRequest)
    # Tools of other types run at OpenAI; the model does not get them.
    tools = [tool for tool in body.tools or () if tool.type == "function" and body.tool_choice != "none"]
    options = body.options(served.defaults, body.max_output_tokens)
    asks = [Answer(0, body.messages, options, tools=described(tools), parts=True, whole=True)]
    writer = ResponsesWriter(served.name, sealed=SEALED in (body.include or ()))
    return await respond(request, served.queue, asks, writer, stream=bool(body.stream))


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
            thought = text_of(item.content, f"{place}.content") or _unsealed(item.encrypted_content)
            return (Message(role="assistant", content="", reasoning_content=thought),) if thought else ()
        case "item_reference":
            why = "Nothing is kept here: send the item itself, as the AI SDK does with store: false."
            raise Problem(400, f"{place} refers to an earlier response. {why}", param=place)
    raise not_read(item.type, place)


def _unsealed(sealed: str | None) -> str:
    """The thought; nothing of what OpenAI encrypted, in a conversation that began there."""
    return sealed.removeprefix(OUR_SEAL) if sealed and sealed.startswith(OUR_SEAL) else ""


class ResponsesWriter:
    """`sealed`: the thought is repeated in the field that clients send back."""

    def __init__(self, model: str, *, sealed: bool) -> None:
        self._sealed = sealed
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
        self._sequence = -1
        self._item_id = ""
        """The open item; empty if none is."""
        self._is_thought = False
        self._text = ""
        """The open item's."""
        self._output: list[dict[str, Any]] = []
        self._done: dict[str, Any] = {}

    def whole(self, answers: Sequence[Whole]) -> dict[str, Any]:
        ((text, thought, asked, ended),) = answers
        items = [self._item(new_id("rs_"), thought, is_thought=True)] if thought else []
        if text or not (items or ended.tool_calls):
            items.append(self._item(new_id("msg_"), text, is_thought=False))
        return self._response(asked, ended, [*items, *map(_call, ended.tool_calls)])

    def begin(self) -> Iterable[str]:
        nothing = {**self._head, "status": "in_progress", "output": [], "usage": None}
        yield self._event("response.created", response=nothing)
        yield self._event("response.in_progress", response=nothing)

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        for thought, text in added.parts:
            if not self._item_id or self._is_thought != thought:
                yield from self._close()
                yield from self._open(is_thought=thought)
            self._text += text
            more = {} if thought else {"logprobs": []}
            yield self._part(f"response.{self._kind}.delta", delta=text, **more)

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        yield from self._close()
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
                "output_tokens_details": {"reasoning_tokens": asked.thought_tokens},
                "total_tokens": counted["total_tokens"],
            },
            "timings": timings(ended),
        }

    @property
    def _kind(self) -> str:
        return "reasoning_text" if self._is_thought else "output_text"

    def _open(self, *, is_thought: bool) -> Iterable[str]:
        self._is_thought, self._text = is_thought, ""
        self._item_id = new_id("rs_" if is_thought else "msg_")
        opened = {
            **self._item(self._item_id, "", is_thought=is_thought), "status": "in_progress", "content": [],
        }  # fmt: skip
        yield self._event("response.output_item.added", output_index=len(self._output), item=opened)
        yield self._part("response.content_part.added", part=_content("", is_thought=is_thought))

    def _close(self) -> Iterable[str]:
        if not self._item_id:
            return
        item = self._item(self._item_id, self._text, is_thought=self._is_thought)
        more = {} if self._is_thought else {"logprobs": []}
        yield self._part(f"response.{self._kind}.done", text=self._text, **more)
        yield self._part("response.content_part.done", part=item["content"][0])
        yield self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._item_id = ""

    def _item(self, id: str, text: str, *, is_thought: bool) -> dict[str, Any]:  # noqa: A002
        content = [_content(text, is_thought=is_thought)]
        if not is_thought:
            return {
                "id": id, "type": "message", "role": "assistant", "status": "completed", "content": content,
            }  # fmt: skip
        sealed = {"encrypted_content": OUR_SEAL + text} if self._sealed else {}
        return {
            "id": id,
            "type": "reasoning",
            "status": "completed",
            "summary": [],
            "content": content,
            **sealed,
        }

    def _part(self, name: str, **fields: Any) -> str:
        place = {"item_id": self._item_id, "output_index": len(self._output), "content_index": 0}
        return self._event(name, **place, **fields)

    def _event(self, name: str, **fields: Any) -> str:
        self._sequence += 1
        return server_sent({"type": name, "sequence_number": self._sequence, **fields}, name)


def _content(text: str, *, is_thought: bool) -> dict[str, Any]:
    if is_thought:
        return {"type": "reasoning_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": new_id("fc_"),
        "type": "function_call",
        "status": "completed",
        "call_id": call.id or new_id("call_"),
        "name": call.name,
        "arguments": call.arguments,
    }
