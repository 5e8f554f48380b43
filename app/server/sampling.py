"""What requests of every API share: the model's name, how to sample and to draft, and where to stop."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from app.server.body import Body
from app.server.problem import Problem
from mlx_spec.errors import OutOfRange
from mlx_spec.types import Options

MOST_TOKENS = 2**20
"""Asked where a request names no limit: the context ends the answer before."""
MOST_STOPS = 16
LONGEST_STOP = 1000

Stop = Annotated[str, Field(min_length=1, max_length=LONGEST_STOP)]
Stops = Stop | Annotated[list[Stop], Field(max_length=MOST_STOPS)] | None


class Draft(Body):
    """Of our own: who drafts, how many tokens, by which rule. `{"drafter": "none"}` decodes plainly."""

    drafter: str | None = None
    length: int | Literal["auto"] | None = None
    verify: str | None = None


class Sampling(Body):
    """Fields of one meaning in all APIs."""

    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stream: bool | None = None
    draft: Draft | None = None

    def options(self, defaults: Options, max_tokens: int | None) -> Options:
        """`defaults` with what the request says; without a seed one is drawn. Problem if it cannot be."""
        draft = self.draft or Draft()
        given = {
            "max_tokens": min(max_tokens, MOST_TOKENS) if max_tokens is not None else MOST_TOKENS,
            "seed": self.seed if self.seed is not None else secrets.randbelow(2**32),
            "draft_length": draft.length,
            "drafter": draft.drafter,
            "verify": draft.verify,
        }
        for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty"):
            given[name] = getattr(self, name)
        given = {name: value for name, value in given.items() if value is not None}
        if given.get("draft_length") == "auto":
            given["draft_length"] = None
        try:
            return replace(defaults, **given)
        except OutOfRange as error:
            raise Problem(400, str(error), param=error.option) from None


def stop_texts(stop: str | list[str] | None) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop or ())


def refuse(fields: Mapping[str, tuple[Any, bool]], hint: str = "") -> None:
    """Problem for the first field, of (its value, whether it can be done), that would be done wrong."""
    for name, (value, can) in fields.items():
        if not can:
            shown = f" {value!r}" if isinstance(value, int | float | str) and len(str(value)) < 40 else ""
            raise Problem(400, f"{name}{shown} is not supported here. Leave it out.{hint}", param=name)
