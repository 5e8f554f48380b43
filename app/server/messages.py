"""`POST /v1/messages`: Anthropic's API."""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.engine.chat_prompt import Count, Message
from app.engine.events import TextAdded, ToolCall, TurnEnded
from app.engine.protocol import Answer
from app.server.answering import Whole, answered, new_id, respond, server_sent
from app.server.body import Body, only
from app.server.conversation import (
    MOST_MESSAGES,
    MOST_TOOLS,
    Function,
    Part,
    called,
    described,
    not_read,
    text_of,
)
from app.server.problem import ANTHROPIC_PATHS, Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import MOST_STOPS, Sampling, Stop, Tokens, read_asked, stop_texts
from app.server.service import Service
from app.server.usage import timings

SIGNATURE = "mlx-spec"
"""Of a thought. Clients send none back without one; nothing checks it here."""
_REASONS = {"stop": "end_turn", "length": "max_tokens"}


class Block(Part):
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    thinking: str | None = None
    tool_use_id: str | None = None
    content: "Blocks | None" = None


Blocks = str | list[Block]


class Turn(Body):
    role: Literal["user", "assistant", "system"]
    content: Blocks


class ToolChoice(Body):
    type: Annotated[str, only("auto", "none")]


class Thinking(Body):
    type: str


class MessagesRequest(Sampling):
    messages: Annotated[list[Turn], Field(min_length=1, max_length=MOST_MESSAGES)]
    max_tokens: Tokens
    system: Blocks | None = None
    stop_sequences: Annotated[list[Stop], Field(max_length=MOST_STOPS)] | None = None
    tools: Annotated[list[Function], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    thread: Any = None

    @property
    def conversation(self) -> list[Message]:
        system = [Message(role="system", content=text_of(self.system, "system"))] if self.system else []
        turns = [_turn(turn, f"messages[{number}]") for number, turn in enumerate(self.messages)]
        return [*system, *(message for turn in turns for message in turn)]


class CountRequest(MessagesRequest):
    max_tokens: int = 1


async def messages(request: Request) -> Response:
    served, body = await read_asked(request, MessagesRequest)
    shows_thought = body.thinking is not None and body.thinking.type != "disabled"
    asks, writer = [_ask(served, body)], MessagesWriter(served.name, shows_thought=shows_thought)
    return await respond(request, served.queue, asks, writer, stream=bool(body.stream))


async def count_tokens(request: Request) -> Response:
    """The number of tokens of a conversation, without a pass of the model."""
    served, body = await read_asked(request, CountRequest)
    (counted,) = await answered(request, served.queue, [_ask(served, body, count=True)])
    return JSONResponse({"input_tokens": counted.ended.stats.prompt_tokens})


def _ask(served: Service, body: MessagesRequest, *, count: bool = False) -> Answer:
    if body.thread is not None:  # Anthropic's client knows the code, and goes on without threads
        message = "thread: nothing is kept here. Leave it out, and send the whole conversation as messages."
        raise Problem(400, message, param="thread", code="thread_unsupported_request")
    conversation, begun = body.conversation, ""
    if body.messages[-1].role == "assistant" and not conversation[-1].get("tool_calls"):
        begun = conversation.pop()["content"]
    if not conversation:
        message = "messages: there is nothing to answer. Send a user's message before the answer's beginning."
        raise Problem(400, message, param="messages")
    prompt = tuple(conversation)
    may_call = body.tool_choice is None or body.tool_choice.type != "none"
    return Answer(
        0,
        Count(prompt) if count else prompt,
        body.options(served.defaults, body.max_tokens),
        begun=begun,
        stop_texts=stop_texts(body.stop_sequences),
        tools=described(body.tools or ()) if may_call else (),
        parts=True,
        whole=True,
    )


def _turn(turn: Turn, place: str) -> list[Message]:
    """The turn's messages. Tool results come first, each as a message of its own."""
    if isinstance(turn.content, str):
        return [Message(role=turn.role, content=turn.content)]
    text, thought, calls, results = "", "", list[dict[str, Any]](), list[Message]()
    for number, block in enumerate(turn.content):
        where = f"{place}.content[{number}]"
        match block.type:
            case "text" if block.text is not None:
                text += block.text
            case "tool_use" if block.name is not None:
                calls.append(called(block.id, block.name, block.input or {}))
            case "tool_result":
                given = text_of(block.content, f"{where}.content")
                results.append(Message(role="tool", content=given, tool_call_id=block.tool_use_id or ""))
            case "thinking":
                thought += block.thinking or ""
            case "redacted_thinking":
                pass
            case _:
                raise not_read(block.type, where)
    own = Message(role=turn.role, content=text)
    if thought:
        own["reasoning_content"] = thought
    if calls:
        own["tool_calls"] = calls
    return [*results, own] if text or calls or not results else results


class MessagesWriter:
    """`shows_thought`: if False, the thought is left out, as Anthropic does unless it is asked for."""

    def __init__(self, model: str, *, shows_thought: bool) -> None:
        self._head = {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": model}
        self._shows_thought = shows_thought
        self._block: str | None = None
        """The type of the open block."""
        self._at = 0
        """Its index."""

    def whole(self, answers: Sequence[Whole]) -> dict[str, Any]:
        ((text, thought, asked, ended),) = answers
        blocks: list[dict[str, Any]] = []
        if thought and self._shows_thought:
            blocks.append({"type": "thinking", "thinking": thought, "signature": SIGNATURE})
        if text or not (blocks or ended.tool_calls):
            blocks.append({"type": "text", "text": text})
        calls = [{**_tool_use(call), "input": json.loads(call.arguments)} for call in ended.tool_calls]
        return {
            **self._head, "content": [*blocks, *calls], **_stop(asked, ended), "usage": _usage(ended),
            "timings": timings(ended),
        }  # fmt: skip

    def begin(self) -> Iterable[str]:
        nothing = {"input_tokens": 0, "output_tokens": 0}
        head = {**self._head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": nothing}
        yield _event("message_start", message=head)
        yield _event("ping")

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        for thought, text in added.parts:
            if thought and not self._shows_thought:
                continue
            field = "thinking" if thought else "text"
            if self._block != field:
                yield from self._close()
                self._block = field
                more = {"signature": ""} if thought else {}
                block = {"type": field, field: "", **more}
                yield _event("content_block_start", index=self._at, content_block=block)
            yield _event("content_block_delta", index=self._at, delta={"type": f"{field}_delta", field: text})

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        yield from self._close()
        for at, call in enumerate(ended.tool_calls, self._at):
            yield _event("content_block_start", index=at, content_block={**_tool_use(call), "input": {}})
            delta = {"type": "input_json_delta", "partial_json": call.arguments}
            yield _event("content_block_delta", index=at, delta=delta)
            yield _event("content_block_stop", index=at)
        yield _event("message_delta", delta=_stop(asked, ended), usage=_usage(ended), timings=timings(ended))

    def _close(self) -> Iterable[str]:
        if self._block == "thinking":
            signed = {"type": "signature_delta", "signature": SIGNATURE}
            yield _event("content_block_delta", index=self._at, delta=signed)
        if self._block is not None:
            yield _event("content_block_stop", index=self._at)
            self._block, self._at = None, self._at + 1

    def end(self) -> Iterable[str]:
        yield _event("message_stop")

    def failed(self, problem: Problem) -> Iterable[str]:
        yield _event("error", **problem.body(ANTHROPIC_PATHS))


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id or new_id("toolu_"), "name": call.name}


def _stop(asked: QueuedRequest, ended: TurnEnded) -> dict[str, Any]:
    reason = "stop_sequence" if ended.stopped_at is not None else _REASONS.get(ended.finish_reason)
    if ended.finish_reason == "length" and ended.stats.tokens < asked.request.options.max_tokens:
        reason = "model_context_window_exceeded"
    if ended.tool_calls and ended.finish_reason == "stop":
        reason = "tool_use"
    return {"stop_reason": reason, "stop_sequence": ended.stopped_at}


def _usage(ended: TurnEnded) -> dict[str, int]:
    stats = ended.stats
    return {
        "input_tokens": stats.prompt_tokens - stats.cached_tokens,
        "cache_read_input_tokens": stats.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": stats.tokens,
    }


def _event(name: str, **fields: Any) -> str:
    return server_sent({"type": name, **fields}, name)
