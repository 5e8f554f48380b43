"""`POST /v1/chat/completions`."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from app.engine.chat_prompt import Message
from app.engine.events import ScoredToken, TextAdded, TurnEnded
from app.server.answering import new_id, respond
from app.server.body import only
from app.server.conversation import ChatMessage, Messages, Tool, Tools, described, for_template
from app.server.logprobs import MOST_LOGPROBS, chat_logprobs
from app.server.openai import OpenAiSampling, OpenAiWriter
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import Tokens, read_asked
from app.server.thinking import TemplateValues, by_effort
from app.server.usage import timings


class ChatRequest(OpenAiSampling):
    messages: Messages[ChatMessage]
    max_completion_tokens: Tokens | None = None
    tools: Tools[Tool] | None = None
    tool_choice: Annotated[Any, only("auto", "none")] = None
    parallel_tool_calls: bool | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MOST_LOGPROBS)] | None = None
    modalities: Annotated[Any, only(["text"])] = None
    audio: Annotated[Any, only()] = None
    functions: Annotated[Any, only([])] = None
    chat_template_kwargs: TemplateValues | None = None
    reasoning_effort: str | None = None
    continue_final_message: bool | None = None
    """vLLM's name of it: the last message is the answer's beginning."""

    @property
    def template_values(self) -> dict[str, Any]:
        """Of the chat template's variables."""
        given = self.chat_template_kwargs
        return by_effort(self.reasoning_effort) | (given.model_dump(exclude_none=True) if given else {})

    @property
    def likeliest(self) -> int | None:
        if self.top_logprobs and not self.logprobs:
            raise Problem(400, "top_logprobs needs logprobs: true.", param="top_logprobs")
        return self.top_logprobs or 0 if self.logprobs else None

    def conversation(self) -> tuple[tuple[Message, ...], str]:
        """The messages, and the beginning of the answer. Problem if it cannot be one."""
        messages = tuple(map(for_template, self.messages))
        if not self.continue_final_message:
            return messages, ""
        *others, last = messages
        if not others or last["role"] != "assistant" or last.keys() & {"tool_calls", "reasoning_content"}:
            message = (
                "continue_final_message: the last message is not the beginning of an answer. End with an "
                "assistant's, after others, without calls or a thought."
            )
            raise Problem(400, message, param="continue_final_message")
        return tuple(others), last["content"]


async def chat_completions(request: Request) -> Response:
    served, body = await read_asked(request, ChatRequest)
    tools = body.tools or () if body.tool_choice != "none" else ()
    options = body.options(served.defaults, body.max_completion_tokens or body.max_tokens)
    messages, begun = body.conversation()
    asks = body.answers(
        messages,
        options,
        begun=begun,
        prompt_name="messages",
        tools=described(tool.function for tool in tools),
        one_call=body.parallel_tool_calls is False,
        parts=True,
        whole=True,
        likeliest=body.likeliest,
        template_values=body.template_values,
    )
    writer = ChatWriter(served.name, body.includes_usage, len(asks))
    return await respond(request, served.queue, asks, writer, stream=bool(body.stream))


class ChatWriter(OpenAiWriter):
    id_prefix = "chatcmpl-"
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def choice(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": asked.text, "refusal": None}
        if asked.thought:
            message["reasoning_content"] = asked.thought
        if ended.tool_calls:
            message |= {"content": asked.text or None, "tool_calls": _calls(ended)}
        logprobs = None if asked.request.likeliest is None else chat_logprobs(asked.scored)
        return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": _finish(ended)}

    def begin(self, asked: QueuedRequest) -> Iterable[str]:
        for index in range(self._n):
            yield self._delta(index, {"role": "assistant", "content": ""})

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        scored = added.scored
        for thought, text in added.parts or [(False, "")]:
            yield self._delta(index, {"reasoning_content" if thought else "content": text}, scored)
            scored = ()

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        self._answers.append((asked, ended))
        if ended.tool_calls:
            calls = [{"index": number, **call} for number, call in enumerate(_calls(ended))]
            yield self._delta(index, {"tool_calls": calls})
        yield self._delta(index, {}, finish=_finish(ended), timings=timings(ended))

    def _delta(
        self,
        index: int,
        delta: dict[str, Any],
        scored: Sequence[ScoredToken] = (),
        *,
        finish: str | None = None,
        **more: Any,
    ) -> str:
        logprobs = chat_logprobs(scored) if scored else None
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return self.chunk([choice], **more)


def _calls(ended: TurnEnded) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id or new_id("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in ended.tool_calls
    ]


def _finish(ended: TurnEnded) -> str:
    return "tool_calls" if ended.tool_calls and ended.finish_reason == "stop" else ended.finish_reason
