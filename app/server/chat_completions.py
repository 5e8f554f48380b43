"""`POST /v1/chat/completions`."""

import secrets
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.engine.events import TurnEnded
from app.engine.protocol import Answer
from app.server.answering import respond
from app.server.body import Body, read_body
from app.server.conversation import Messages, Tools, conversation, tool_descriptions
from app.server.line import Asked
from app.server.openai import OpenAiSampling, OpenAiWriter
from app.server.sampling import stop_texts
from app.server.service import service
from app.server.usage import timings


class ResponseFormat(Body):
    type: str


class ChatRequest(OpenAiSampling):
    messages: Messages
    max_completion_tokens: int | None = None
    tools: Tools | None = None
    tool_choice: Any = None
    response_format: ResponseFormat | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    modalities: list[str] | None = None
    audio: Any = None
    functions: Any = None

    def refused(self) -> None:
        form = self.response_format.type if self.response_format else "text"
        self.refuse_unknown(
            response_format=(form, form == "text"),
            tool_choice=(self.tool_choice, self.tool_choice in (None, "auto", "none")),
            logprobs=(self.logprobs, not self.logprobs),
            top_logprobs=(self.top_logprobs, not self.top_logprobs),
            modalities=(None, self.modalities in (None, ["text"])),
            audio=(None, not self.audio),
            functions=(None, not self.functions),
        )


async def chat_completions(request: Request) -> Response:
    served, body = service(request), await read_body(request, ChatRequest)
    served.check_model(body.model)
    body.refused()
    most = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
    ask = Answer(
        0,
        conversation(body.messages),
        body.options(served.defaults, most),
        documents=body.documents,
        stop_texts=stop_texts(body.stop),
        tools=() if body.tool_choice == "none" else tool_descriptions(body.tools),
        whole=True,
    )
    asks = body.answers(ask)
    writer = ChatWriter(served.name, body.includes_usage, len(asks))
    return await respond(request, served.line, asks, writer, stream=bool(body.stream))


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

    def ended(self, index: int, asked: Asked, ended: TurnEnded) -> Iterable[str]:
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
            "id": f"call_{secrets.token_hex(12)}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in ended.tool_calls
    ]


def _finish(ended: TurnEnded) -> str:
    return "tool_calls" if ended.tool_calls else ended.finish_reason
