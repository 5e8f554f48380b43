"""`POST /v1/messages`: Anthropic's API."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from app.engine.chat_prompt import Message, by_think
from app.engine.events import TextAdded, TurnEnded
from app.engine.protocol import Answer
from app.server.answering import new_id, respond, server_sent
from app.server.body import Body, only
from app.server.conversation import Content, Function, Messages, Tools, called, described, text_of, types
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import MOST_STOPS, Sampling, Stop, Tokens, read_asked, stop_texts
from app.server.service import Service
from app.server.thinking import Effort, by_effort
from app.server.usage import timings

SIGNATURE = "mlx-spec"
"""Of a thought. Clients send none back without one; nothing checks it here."""
_REASONS = {"stop": "end_turn", "length": "max_tokens"}


class Block(Body):
    """The fields used depend on the type."""

    type: Annotated[str, types("text", "tool_use", "tool_result", "thinking", "redacted_thinking")]
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    thinking: str | None = None
    tool_use_id: str | None = None
    content: Content = None


class Turn(Body):
    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class MessagesTool(Function):
    type: str | None = None
    name: str = ""


class ToolChoice(Body):
    type: Annotated[str, only("auto", "none")]
    disable_parallel_tool_use: bool | None = None


class Thinking(Body):
    type: str


class OutputConfig(Effort):
    format: Annotated[Any, only()] = None


class MessagesRequest(Sampling):
    messages: Messages[Turn]
    max_tokens: Tokens
    system: Content = None
    stop_sequences: Annotated[list[Stop], Field(max_length=MOST_STOPS)] | None = None
    tools: Tools[MessagesTool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    thread: Any = None

    @property
    def template_values(self) -> dict[str, Any]:
        """Of the chat template's variables."""
        given = by_effort(self.output_config.effort) if self.output_config else {}
        return given | (
            by_think("off" if self.thinking.type == "disabled" else "on") if self.thinking else {}
        )

    @property
    def conversation(self) -> list[Message]:
        system = [Message(role="system", content=text_of(self.system))] if self.system else []
        return [*system, *(message for turn in self.messages for message in _turn(turn))]


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
    asks, writer = [_ask(served, body, counts=True)], CountWriter(served.name, shows_thought=False)
    return await respond(request, served.queue, asks, writer, stream=False)


def _ask(served: Service, body: MessagesRequest, *, counts: bool = False) -> Answer:
    if body.thread is not None:  # Anthropic's client knows the code, and goes on without threads
        message = "thread: nothing is kept here. Leave it out, and send the whole conversation as messages."
        raise Problem(400, message, param="thread", code="thread_unsupported_request")
    conversation, begun = body.conversation, ""
    if body.messages[-1].role == "assistant" and not conversation[-1].get("tool_calls"):
        begun = conversation.pop()["content"]
    if not conversation:
        message = "messages: there is nothing to answer. Send a user's message before the answer's beginning."
        raise Problem(400, message, param="messages")
    may_call = body.tool_choice is None or body.tool_choice.type != "none"
    # Tools of other types run at Anthropic, or its models know them by heart; this one does not get them.
    tools = [tool for tool in body.tools or () if tool.type in (None, "custom") and may_call]
    return Answer(
        0,
        tuple(conversation),
        body.options(served.defaults, body.max_tokens),
        prompt_name="messages",
        begun=begun,
        stop_texts=stop_texts(body.stop_sequences),
        tools=described(tools),
        one_call=bool(body.tool_choice and body.tool_choice.disable_parallel_tool_use),
        template_values=body.template_values,
        parts=True,
        counts=counts,
        whole=True,
    )


def _turn(turn: Turn) -> list[Message]:
    """The turn's messages. Tool results come first, each as a message of its own."""
    if isinstance(turn.content, str):
        return [Message(role=turn.role, content=turn.content)]
    text, thought, calls, results = "", "", list[dict[str, Any]](), list[Message]()
    for block in turn.content:
        text += block.text or ""
        thought += block.thinking or ""
        if block.type == "tool_use":
            calls.append(called(block.id, block.name or "", block.input or {}))
        if block.type == "tool_result":
            given = text_of(block.content)
            results.append(Message(role="tool", content=given, tool_call_id=block.tool_use_id or ""))
    own = Message(role=turn.role, content=text)
    if thought:
        own["reasoning_content"] = thought
    if calls:
        own["tool_calls"] = calls
    return [*results, own] if text or not results else results


class MessagesWriter:
    """`shows_thought`: if False, the thought is left out, as Anthropic does unless it is asked for."""

    def __init__(self, model: str, *, shows_thought: bool) -> None:
        self._shows_thought = shows_thought
        self._blocks: list[dict[str, Any]] = []
        self._message = {
            "id": new_id("msg_"), "type": "message", "role": "assistant", "model": model,
            "content": self._blocks, "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }  # fmt: skip

    def begin(self, asked: QueuedRequest) -> Iterable[str]:
        self._message["usage"]["input_tokens"] = asked.prompt_tokens
        yield _event("message_start", message=self._message)
        yield _event("ping")

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        for thought, text in added.parts:
            if thought and not self._shows_thought:
                continue
            kind = "thinking" if thought else "text"
            if not self._blocks or self._blocks[-1]["type"] != kind:
                yield from self._begin(kind, {kind: "", **({"signature": ""} if thought else {})})
            self._blocks[-1][kind] += text
            yield self._delta(f"{kind}_delta", {kind: text})

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        if not (self._blocks or ended.tool_calls):
            yield from self._begin("text", {"text": ""})
        for call in ended.tool_calls:
            named = {"id": call.id or new_id("toolu_"), "name": call.name}
            yield from self._begin("tool_use", {**named, "input": {}})
            yield self._delta("input_json_delta", {"partial_json": call.arguments})
            self._blocks[-1]["input"] = json.loads(call.arguments)
        yield from self._complete()
        stop, counted = _stop(asked, ended), {"usage": _usage(ended), "timings": timings(ended)}
        self._message |= {**stop, **counted}
        yield _event("message_delta", delta=stop, **counted)

    def end(self) -> Iterable[str]:
        yield _event("message_stop")

    def failed(self, problem: Problem) -> Iterable[str]:
        yield _event("error", **problem.body(anthropic=True))

    def whole(self) -> dict[str, Any]:
        return self._message

    def _begin(self, kind: str, fields: dict[str, Any]) -> Iterable[str]:
        """Complete the last block, and begin another."""
        yield from self._complete()
        self._blocks.append({"type": kind, **fields})
        yield _event("content_block_start", index=len(self._blocks) - 1, content_block=self._blocks[-1])

    def _complete(self) -> Iterable[str]:
        if not self._blocks:
            return
        if self._blocks[-1]["type"] == "thinking":
            self._blocks[-1]["signature"] = SIGNATURE
            yield self._delta("signature_delta", {"signature": SIGNATURE})
        yield _event("content_block_stop", index=len(self._blocks) - 1)

    def _delta(self, kind: str, fields: dict[str, str]) -> str:
        return _event("content_block_delta", index=len(self._blocks) - 1, delta={"type": kind, **fields})


class CountWriter(MessagesWriter):
    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        self._message = {"input_tokens": ended.stats.prompt_tokens}
        return ()


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
