"""What OpenAI's chat and completions APIs share: fields of requests, and the format of answers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from app.engine.events import TurnEnded
from app.engine.protocol import Answer
from app.server.answering import new_id, server_sent
from app.server.body import Body
from app.server.conversation import Content, text_of
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.sampling import Sampling, Stops, Tokens, stop_texts
from app.server.service import now
from app.server.usage import timings, usage
from app.settings.options import AnswerOptions, copies

MOST_ANSWERS = 32
"""Most answers to one request, over all its prompts."""
MOST_PREDICTED = 100_000
"""Most characters of a prediction. Other answers wait while the drafter reads it: a third of a second."""
DONE = "data: [DONE]\n\n"


class StreamOptions(Body):
    include_usage: bool | None = None


class Prediction(Body):
    content: Content = None


class OpenAiSampling(Sampling):
    max_tokens: Tokens | None = None
    stop: Stops = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] | None = None
    prediction: Prediction | None = None

    def answers(self, prompt: Any, options: AnswerOptions, **more: Any) -> list[Answer]:
        """`n` answers to one prompt, with consecutive seeds; `more` fields of an `Answer`."""
        more |= {"documents": self._documents(options), "stop_texts": stop_texts(self.stop)}
        seeds = [(options.seed + number) % 2**64 for number in range(self.n or 1)]
        return [Answer(0, prompt, replace(options, seed=seed), **more) for seed in seeds]

    def _documents(self, options: AnswerOptions) -> tuple[str, ...]:
        """The predicted output, for the lookup drafter to copy from. Problem if it leaves none to copy."""
        predicted = text_of(self.prediction.content) if self.prediction else ""
        if predicted and not copies(options.drafter):
            message = (
                f"prediction: the drafter lookup copies from it, and {options.drafter} leaves lookup out."
            )
            raise Problem(400, f"{message} Send no prediction, or draft.drafter auto.", param="prediction")
        if len(predicted) > MOST_PREDICTED:
            message = (
                f"prediction: {len(predicted):,} characters, and at most {MOST_PREDICTED:,} are possible."
            )
            raise Problem(400, f"{message} Send the part that matters most.", param="prediction")
        return (predicted,) if predicted else ()

    @property
    def includes_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)


class OpenAiWriter(ABC):
    """What both APIs write alike: chunks, usage, and the end of a stream.

    Args:
        n: answers per prompt; those of one prompt are consecutive.
    """

    id_prefix = ""
    kind = ""
    chunk_kind = ""

    def __init__(self, model: str, includes_usage: bool, n: int) -> None:
        self._head = {"id": new_id(self.id_prefix), "created": now(), "model": model}
        self._includes_usage = includes_usage
        self._n = n
        self._answers: list[tuple[QueuedRequest, TurnEnded]] = []

    def whole(self) -> dict[str, Any]:
        choices = [self.choice(index, *answer) for index, answer in enumerate(self._answers)]
        if len(choices) > 1:
            for choice, (_, ended) in zip(choices, self._answers, strict=True):
                choice["timings"] = timings(ended)
        return {
            **self._head, "object": self.kind, "choices": choices,
            "usage": usage(self._answers, self._n), "timings": timings(self._answers[0][1]),
        }  # fmt: skip

    @abstractmethod
    def choice(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> dict[str, Any]:
        """An answer as a whole."""

    def end(self) -> Iterable[str]:
        if self._includes_usage:
            yield self.chunk([], usage=usage(self._answers, self._n))
        yield DONE

    def failed(self, problem: Problem) -> Iterable[str]:
        yield server_sent(problem.body())

    def chunk(self, choices: Sequence[dict[str, Any]], **more: Any) -> str:
        nothing = {"usage": None} if self._includes_usage else {}
        return server_sent({**self._head, "object": self.chunk_kind, "choices": choices, **nothing, **more})
