"""The fields that requests of every API share: model, sampling, drafting and stop texts."""

import secrets
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ConfigDict, Field
from starlette.requests import Request

from app.server.body import Body, only, read_body
from app.server.problem import Problem
from app.server.service import Service, service
from app.settings.options import AnswerOptions
from mlx_spec.errors import OutOfRange
from mlx_spec.types import LEAST, MAX_REPETITION_CONTEXT

MOST_TOKENS = 2**20
"""`max_tokens` if a request sets none: the context ends the answer sooner."""
MOST_STOPS = 16
LONGEST_STOP = 1000
PENALTIES = AliasChoices("repetition_penalty", "repeat_penalty")
"""vLLM's name of it, and that of llama.cpp, LM Studio and Ollama."""
PENALISED = AliasChoices("repeat_last_n", "repetition_context_size")
"""Their name of the tokens that it looks back, and mlx-lm's; 0 is no penalty, -1 the whole text."""


NAMES = {
    "draft_length": "draft.length", "verify": "draft.verify", "repetition_context": "repeat_last_n",
}  # fmt: skip
"""Of options that requests call otherwise."""


def minus_one_is(meaning: int | None) -> BeforeValidator:
    """-1 stands for no limit, no filter or no seed, as in llama.cpp, LM Studio and vLLM."""
    return BeforeValidator(lambda value: meaning if value == -1 else value)


def _not_tiny(value: float | None) -> float | None:
    """OpenAI's API takes numbers that are too small to compute with."""
    return LEAST if value is not None and 0 <= value < LEAST else value


Tokens = Annotated[int, Field(ge=1), minus_one_is(MOST_TOKENS)]
Stop = Annotated[str, Field(min_length=1, max_length=LONGEST_STOP)]
Stops = Stop | Annotated[list[Stop], Field(max_length=MOST_STOPS)] | None
Zero = Annotated[Any, only(0)]
One = Annotated[Any, only(1)]
Empty = Annotated[Any, only([])]
Unbound = Annotated[Any, only("")]
"""Of fields that bind an answer to a form."""


class Draft(Body):
    """Our extension: drafter, draft length, verification. `{"drafter": "none"}` is plain decoding."""

    model_config = ConfigDict(extra="forbid")

    drafter: str | None = None
    draft_length: int | Literal["auto"] | None = Field(None, alias="length")
    verify: str | None = None


class Unsupported(Body):
    """Fields of other servers that would change the text. Many programs send them with values that do not."""

    frequency_penalty: Annotated[float | None, only(0.0)] = None
    presence_penalty: Annotated[float | None, only(0.0)] = None
    no_repeat_ngram_size: Zero = None
    dry_multiplier: Zero = None
    mirostat: Zero = None
    xtc_probability: Zero = None
    dynatemp_range: Zero = None
    top_a: Zero = None
    top_n_sigma: Annotated[Any, only(0, -1)] = None
    typical_p: One = None
    typ_p: One = None
    tfs_z: One = None
    logit_bias: Annotated[Any, only({})] = None
    bad_words: Empty = None
    allowed_token_ids: Empty = None
    stop_token_ids: Empty = None
    min_tokens: Zero = None
    ignore_eos: Annotated[Any, only(False)] = None
    use_beam_search: Annotated[Any, only(False)] = None
    response_format: Annotated[Any, only({"type": "text"})] = None
    grammar: Unbound = None
    json_schema: Unbound = None
    guided_json: Unbound = None
    guided_regex: Unbound = None
    guided_choice: Unbound = None
    guided_grammar: Unbound = None
    structured_outputs: Unbound = None
    regex: Unbound = None
    ebnf: Unbound = None


class Sampling(Unsupported):
    """Fields with the same meaning in all APIs."""

    model: str | None = None
    temperature: Annotated[float | None, AfterValidator(lambda value: value and _not_tiny(value))] = None
    top_p: Annotated[float | None, AfterValidator(_not_tiny)] = None
    top_k: Annotated[int | None, minus_one_is(0)] = None
    min_p: float | None = None
    repetition_penalty: Annotated[float | None, Field(validation_alias=PENALTIES)] = None
    repetition_context: Annotated[
        int | None, minus_one_is(MAX_REPETITION_CONTEXT), Field(validation_alias=PENALISED)
    ] = None
    seed: Annotated[int | None, minus_one_is(None)] = None
    stream: bool | None = None
    draft: Draft | None = None

    def options(self, defaults: AnswerOptions, max_tokens: int | None) -> AnswerOptions:
        """`defaults` overridden by the request, with a random seed if it sets none. Problem if invalid."""
        own = self.model_dump(include={each.name for each in fields(AnswerOptions)}, exclude_none=True)
        given = {**own, "max_tokens": max_tokens or MOST_TOKENS}
        if self.draft:
            given |= self.draft.model_dump(exclude_none=True)
        if given.get("draft_length") == "auto":
            given["draft_length"] = None
        if given.get("repetition_context") == 0:
            given |= {"repetition_context": 1, "repetition_penalty": 1.0}
        try:
            return replace(defaults, **{"seed": secrets.randbelow(2**32), **given})
        except OutOfRange as error:
            name = NAMES.get(error.option, error.option)
            also = "; 0 is no penalty, -1 the whole text" if name == "repeat_last_n" else ""
            refused = OutOfRange(name, error.value, error.wanted + also)
            raise Problem(400, str(refused), param=name) from None


AnySampling = TypeVar("AnySampling", bound=Sampling)


async def read_asked(request: Request, kind: type[AnySampling]) -> tuple[Service, AnySampling]:
    """The service and the body; Problem also if the request names another model."""
    served, body = service(request), await read_body(request, kind)
    served.check_model(body.model)
    return served, body


def stop_texts(stop: str | list[str] | None) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop or ())
