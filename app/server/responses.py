"""`POST /v1/responses`: OpenAI's newer API, without what needs stored responses."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from starlette.requests import Request
from starlette.responses import Response

from app.engine.chat_prompt import Message
from app.engine.events import TextAdded, TurnEnded
from app.engine.protocol import Answer
from app.server.answering import new_id, respond, server_sent
from app.server.body import Body, only
from app.server.conversation import (
    Arguments,
    Content,
    Function,
    Messages,
    Tools,
    called,
    described,
    text_of,
    types,
)
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import Sampling, Tokens, read_asked
from app.server.service import now
from app.server.thinking import Effort, by_effort
from app.server.usage import timings, usage

SEALED = "reasoning.encrypted_content"
"""Codex and others send a thought back only in this field."""
OUR_SEAL = "mlx-spec:"
LOGPROBS = "message.output_text.logprobs"
NOTHING_KEPT = only("", hint=". Nothing is kept here: send the whole conversation as input")


class Item(Body):
    """A message, a tool call or a tool's result; the fields used depend on the type."""

    type: Annotated[str, types("message", "function_call", "function_call_output", "reasoning")] = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: Content = None
    call_id: str | None = None
    name: str | None = None
    arguments: Arguments = {}
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
    input: str | Messages[Item]
    instructions: str | None = None
    max_output_tokens: Tokens | None = None
    tools: Tools[ResponseTool] | None = None
    tool_choice: Annotated[Any, only("auto", "none")] = None
    parallel_tool_calls: bool | None = None
    text: Text | None = None
    previous_response_id: Annotated[Any, NOTHING_KEPT] = None
    conversation: Annotated[Any, NOTHING_KEPT] = None
    prompt: Annotated[Any, NOTHING_KEPT] = None
    background: Annotated[Any, only(False)] = None
    top_logprobs: Annotated[Any, only(0)] = None
    reasoning: Effort | None = None
    include: Annotated[list[str], AfterValidator(_without_logprobs)] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        messages = [Message(role="system", content=self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return (*messages, Message(role="user", content=self.input))
        thoughts: list[str] = []
        for item in self.input:
            if item.type == "reasoning":
                thoughts += filter(None, [text_of(item.content) or _unsealed(item.encrypted_content)])
                continue
            # Items of one answer: templates expect its thought, text and calls in one message.
            message, last = _message(item), messages[-1] if messages else None
            if message["role"] == "assistant" and thoughts:
                message["reasoning_content"] = "\n".join(thoughts)
            elif last and last["role"] == "assistant" and "tool_calls" in message:
                last.setdefault("tool_calls", []).extend(message["tool_calls"])
                continue
            thoughts = []
            messages.append(message)
        return tuple(messages)


async def responses(request: Request) -> Response:
    served, body = await read_asked(request, ResponsesRequest)
    # Tools of other types run at OpenAI; the model does not get them.
    tools = [tool for tool in body.tools or () if tool.type == "function" and body.tool_choice != "none"]
    options = body.options(served.defaults, body.max_output_tokens)
    one = body.parallel_tool_calls is False
    asks = [
        Answer(
            0,
            body.messages,
            options,
            prompt_name="input",
            tools=described(tools),
            one_call=one,
            template_values=by_effort(body.reasoning.effort) if body.reasoning else {},
            parts=True,
            whole=True,
        )
    ]
    asked = {
        **body.model_dump(include={"instructions", "max_output_tokens", "metadata"}),
        "temperature": options.temperature,
        "top_p": options.top_p,
        "tool_choice": body.tool_choice or "auto",
        "parallel_tool_calls": not one,
        "tools": [tool.model_dump() for tool in tools],
    }
    writer = ResponsesWriter(served.name, asked, sealed=SEALED in (body.include or ()))
    return await respond(request, served.queue, asks, writer, stream=bool(body.stream))


def _message(item: Item) -> Message:
    """What is not a thought."""
    match item.type:
        case "function_call":
            call = called(item.call_id, item.name or "", item.arguments)
            return Message(role="assistant", content="", tool_calls=[call])
        case "function_call_output":
            return Message(role="tool", content=text_of(item.output), tool_call_id=item.call_id or "")
        case _:
            role = "system" if item.role == "developer" else item.role or "user"
            return Message(role=role, content=text_of(item.content))


def _unsealed(sealed: str | None) -> str:
    """The thought; nothing of what OpenAI encrypted, in a conversation that began there."""
    return sealed.removeprefix(OUR_SEAL) if sealed and sealed.startswith(OUR_SEAL) else ""


class ResponsesWriter:
    """
    Args:
        asked: fields of the request, which the response repeats.
        sealed: the thought is repeated in the field that clients send back.
    """

    def __init__(self, model: str, asked: dict[str, Any], *, sealed: bool) -> None:
        self._sealed = sealed
        self._output: list[dict[str, Any]] = []
        """The last item is being written while its status is `in_progress`."""
        self._response: dict[str, Any] = {
            "id": new_id("resp_"), "object": "response", "created_at": now(), "model": model,
            "status": "in_progress", "error": None, "incomplete_details": None, "output": self._output,
            "usage": None, **asked,
        }  # fmt: skip
        self._sequence = -1

    def begin(self, asked: QueuedRequest) -> Iterable[str]:
        yield self._event("response.created", response=self._response)
        yield self._event("response.in_progress", response=self._response)

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        for thought, text in added.parts:
            kind = "reasoning" if thought else "message"
            if not self._output or self._output[-1]["type"] != kind:
                yield from self._begin_text(kind)
            part = self._output[-1]["content"][0]
            part["text"] += text
            yield self._text_event("delta", delta=text)

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        if not (self._output or ended.tool_calls):
            yield from self._begin_text("message")
        cut = ended.finish_reason == "length"
        yield from self._complete_text("incomplete" if cut and not ended.tool_calls else "completed")
        for call in ended.tool_calls:
            call_id = call.id or new_id("call_")
            yield self._begin(new_id("fc_"), "function_call", call_id=call_id, name=call.name, arguments="")
            yield self._item_event("response.function_call_arguments.delta", delta=call.arguments)
            yield self._item_event("response.function_call_arguments.done", arguments=call.arguments)
            yield self._complete(arguments=call.arguments)
        counted = usage([(asked, ended)])
        self._response |= {
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "usage": {
                "input_tokens": counted["prompt_tokens"],
                "input_tokens_details": {**counted["prompt_tokens_details"], "cache_write_tokens": 0},
                "output_tokens": counted["completion_tokens"],
                "output_tokens_details": {"reasoning_tokens": asked.thought_tokens},
                "total_tokens": counted["total_tokens"],
            },
            "timings": timings(ended),
        }

    def end(self) -> Iterable[str]:
        yield self._event(f"response.{self._response['status']}", response=self._response)

    def failed(self, problem: Problem) -> Iterable[str]:
        usual = "server_error" if problem.status >= 500 else "invalid_prompt"
        error = {"code": problem.code or usual, "message": problem.message}
        failed = {**self._response, "status": "failed", "error": error, "output": []}
        yield self._event("response.failed", response=failed)

    def whole(self) -> dict[str, Any]:
        return self._response

    def _begin_text(self, kind: str) -> Iterable[str]:
        """Complete the last item, and begin one for a thought or text."""
        yield from self._complete_text()
        if kind == "reasoning":
            part: dict[str, Any] = {"type": "reasoning_text", "text": ""}
            yield self._begin(new_id("rs_"), kind, summary=[], content=[])
        else:
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield self._begin(new_id("msg_"), kind, role="assistant", content=[])
        self._output[-1]["content"] = [part]
        yield self._item_event("response.content_part.added", content_index=0, part=part)

    def _complete_text(self, status: str = "completed") -> Iterable[str]:
        if not self._output:
            return
        (part,) = self._output[-1]["content"]
        sealed = self._sealed and part["type"] == "reasoning_text"
        yield self._text_event("done", text=part["text"])
        yield self._item_event("response.content_part.done", content_index=0, part=part)
        yield self._complete(status, **({"encrypted_content": OUR_SEAL + part["text"]} if sealed else {}))

    def _text_event(self, event: str, **fields: str) -> str:
        (part,) = self._output[-1]["content"]
        scored = {"logprobs": []} if part["type"] == "output_text" else {}
        return self._item_event(f"response.{part['type']}.{event}", content_index=0, **fields, **scored)

    def _begin(self, id: str, kind: str, **fields: Any) -> str:  # noqa: A002
        self._output.append({"id": id, "type": kind, "status": "in_progress", **fields})
        at = len(self._output) - 1
        return self._event("response.output_item.added", output_index=at, item=self._output[-1])

    def _complete(self, status: str = "completed", **fields: str) -> str:
        self._output[-1] |= {"status": status, **fields}
        at = len(self._output) - 1
        return self._event("response.output_item.done", output_index=at, item=self._output[-1])

    def _item_event(self, name: str, **fields: Any) -> str:
        place = {"item_id": self._output[-1]["id"], "output_index": len(self._output) - 1}
        return self._event(name, **place, **fields)

    def _event(self, name: str, **fields: Any) -> str:
        self._sequence += 1
        return server_sent({"type": name, "sequence_number": self._sequence, **fields}, name)
