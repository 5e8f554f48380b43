"""`POST /v1/chat/completions`."""

from collections.abc import Iterable
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import Response

from app.engine.events import TurnEnded
from app.engine.protocol import Answer
from app.server.answering import new_id, respond
from app.server.body import only
from app.server.conversation import Messages, Tools, conversation, described
from app.server.openai import OpenAiSampling, OpenAiWriter
from app.server.request_queue import QueuedRequest
from app.server.sampling import read_asked, stop_texts
from app.server.usage import timings


class ChatRequest(OpenAiSampling):
    messages: Messages
    max_completion_tokens: int | None = None
    tools: Tools | None = None
    tool_choice: Annotated[Any, only("auto", "none")] = None
    response_format: Annotated[Any, only({"type": "text"})] = None
    logprobs: Annotated[Any, only(False)] = None
    top_logprobs: Annotated[Any, only(0)] = None
    modalities: Annotated[Any, only(["text"])] = None
    audio: Annotated[Any, only()] = None
    functions: Annotated[Any, only([])] = None


async def chat_completions(request: Request) -> Response:
    served, body = await read_asked(request, ChatRequest)
    most = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
    tools = body.tools or () if body.tool_choice != "none" else ()
    ask = Answer(
        0,
        conversation(body.messages),
        body.options(served.defaults, most),
        documents=body.documents,
        stop_texts=stop_texts(body.stop),
        tools=described(tool.function for tool in tools),
        whole=True,
    )
    asks = body.answers(ask)
    writer = ChatWriter(served.name, body.includes_usage, len(asks))
    return await respond(request, served.queue, asks, writer, stream=bool(body.stream))


class ChatWriter(OpenAiWriter):
    id_prefix = "chatcmpl-"
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def choice(self, index: int, text: str, ended: TurnEnded) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if ended.tool_calls:
            message |= {"content": text or None, "tool_calls": _calls(ended)}
        return {"index": index, "message": message, "logprobs": None, "finish_reason": _finish(ended)}

    def begin(self) -> Iterable[str]:
        for index in range(self._n):
            yield self._delta(index, {"role": "assistant", "content": ""})

    def text(self, index: int, text: str) -> Iterable[str]:
        yield self._delta(index, {"content": text})

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        self._answers.append((asked, ended))
        if ended.tool_calls:
            calls = [{"index": number, **call} for number, call in enumerate(_calls(ended))]
            yield self._delta(index, {"tool_calls": calls})
        yield self._delta(index, {}, _finish(ended), timings=timings(ended))

    def _delta(self, index: int, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        return self.chunk(
            [{"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}], **more
        )


def _calls(ended: TurnEnded) -> list[dict[str, Any]]:
    return [
        {
            "id": new_id("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in ended.tool_calls
    ]


def _finish(ended: TurnEnded) -> str:
    return "tool_calls" if ended.tool_calls else ended.finish_reason
