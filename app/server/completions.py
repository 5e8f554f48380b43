"""`POST /v1/completions`: text or token ids continued as they are, without a chat template."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from app.engine.chat_prompt import FillIn
from app.engine.events import TextAdded, TurnEnded
from app.server.answering import respond
from app.server.body import only
from app.server.logprobs import MOST_LOGPROBS, completion_logprobs
from app.server.openai import MOST_ANSWERS, OpenAiSampling, OpenAiWriter
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import read_asked
from app.server.usage import timings

USUAL_TOKENS = 16
"""OpenAI's default for `max_tokens`."""

Ids = tuple[int, ...]
Prompts = str | Annotated[list[str], Field(min_length=1)] | Ids | Annotated[list[Ids], Field(min_length=1)]


class CompletionRequest(OpenAiSampling):
    prompt: Prompts
    suffix: str | None = None
    echo: Annotated[Any, only(False)] = None
    best_of: int | None = None
    logprobs: Annotated[int, Field(ge=0, le=MOST_LOGPROBS)] | None = None

    @property
    def prompts(self) -> list[str | tuple[int, ...] | FillIn]:
        if self.suffix:
            if not isinstance(self.prompt, str):
                raise Problem(400, "A suffix needs a single prompt, given as text.", param="suffix")
            return [FillIn(self.prompt, self.suffix)]
        return [*self.prompt] if isinstance(self.prompt, list) else [self.prompt]


async def completions(request: Request) -> Response:
    served, body = await read_asked(request, CompletionRequest)
    prompts, n = body.prompts, body.n or 1
    if body.best_of not in (None, n):
        message = f"best_of {body.best_of} is not supported here. Leave it out."
        raise Problem(400, message, param="best_of")
    options = body.options(served.defaults, body.max_tokens or USUAL_TOKENS)
    if len(prompts) * n > MOST_ANSWERS:
        message = f"Prompts times n makes {len(prompts) * n} answers. At most {MOST_ANSWERS} are possible."
        raise Problem(400, message, param="n")
    asks = [ask for prompt in prompts for ask in body.answers(prompt, options, likeliest=body.logprobs)]
    writer = CompletionWriter(served.name, body.includes_usage, n)
    return await respond(request, served.queue, asks, writer, stream=bool(body.stream))


class CompletionWriter(OpenAiWriter):
    id_prefix = "cmpl-"
    kind = chunk_kind = "text_completion"

    def choice(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> dict[str, Any]:
        logprobs = None if asked.request.likeliest is None else completion_logprobs(asked.scored)
        return _choice(index, asked.text, logprobs, ended.finish_reason)

    def begin(self, asked: QueuedRequest) -> Iterable[str]:
        return ()

    def text(self, index: int, added: TextAdded) -> Iterable[str]:
        logprobs = completion_logprobs(added.scored) if added.scored else None
        yield self.chunk([_choice(index, added.text, logprobs)])

    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]:
        self._answers.append((asked, ended))
        yield self.chunk([_choice(index, "", None, ended.finish_reason)], timings=timings(ended))


def _choice(
    index: int, text: str, logprobs: dict[str, Any] | None, finish: str | None = None
) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}
