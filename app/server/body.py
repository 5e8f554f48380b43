"""Reads and validates a request's body, with limits on its size and on the time it takes."""

import asyncio
import json
from typing import Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError
from starlette.datastructures import Headers
from starlette.requests import Request

from app.server.problem import Problem

MOST_BODY_BYTES = 8 * 2**20
BODY_SECONDS = 30.0
MOST_VALUES = 200_000
"""Texts, lists and objects in a body: megabytes of small ones keep all streams waiting for seconds."""


def _end_at_first_error(schema: Any, handler: GetCoreSchemaHandler) -> None:
    """Let each list end at its first wrong value: millions of errors take minutes and gigabytes."""
    if isinstance(schema, dict):
        if schema.get("type") in ("list", "tuple"):
            schema["fail_fast"] = True
        if schema.get("type") == "definition-ref":
            schema = handler.resolve_ref_schema(cast("CoreSchema", schema))
        schema = schema.values()
    elif not isinstance(schema, list | tuple):
        return
    for part in schema:
        _end_at_first_error(part, handler)


class Body(BaseModel):
    """A client's JSON: exact types, no infinite numbers; unknown fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False, frozen=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _end_at_first_error(schema, handler)
        return schema


AnyBody = TypeVar("AnyBody", bound=Body)


def only(*supported: object, hint: str = "") -> AfterValidator:
    """Refuses any value of a field but these and None, as the answer would not respect it."""

    def check(value: Any) -> Any:
        if value is None or value in supported:
            return value
        named = value.get("type", value) if isinstance(value, dict) else value
        text = "{shown} is not supported here. Leave it out{hint}"
        raise PydanticCustomError(
            "not_supported", text, {"shown": _shown(named) or "this value", "hint": hint}
        )

    return AfterValidator(check)


def _shown(value: Any) -> str:
    """A short value as the client wrote it; nothing for a long one, a list and an object."""
    text = "" if isinstance(value, list | tuple | dict) else json.dumps(value)
    return text if len(text) < 40 else ""


async def read_body(request: Request, kind: type[AnyBody]) -> AnyBody:
    """The body, or Problem."""
    _check_head(request.headers)
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                check_size(len(content))
    except TimeoutError:
        raise Problem(408, f"The request was not complete after {BODY_SECONDS:.0f} s.") from None
    if _values(content) > MOST_VALUES:
        message = f"The request has more than {MOST_VALUES:,} texts, lists and objects. Send less."
        raise Problem(413, message, code="request_too_large")
    try:
        return kind.model_validate_json(bytes(content), context={"values": 0})
    except ValidationError as error:
        raise _problem(max(error.errors(include_url=False), key=_depth)) from None


def _check_head(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        message = f"The content type is {kind[:100] or 'missing'}. Send Content-Type: application/json."
        raise Problem(415, message, code="unsupported_media_type")
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        message = f"The body is compressed ({encoding[:100]}). Send it as plain JSON."
        raise Problem(415, message, code="unsupported_media_type")
    check_size(int(headers.get("content-length", "0")))


def check_size(size: int) -> None:
    if size > MOST_BODY_BYTES:
        limit = f"{MOST_BODY_BYTES // 2**20} MB"
        raise Problem(413, f"The request is larger than {limit}. Send less.", code="request_too_large")


def _values(content: bytes | bytearray) -> int:
    """The texts, lists and objects of JSON; the texts alone if they are too many already."""
    bare = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    texts = bare.count(b'"') // 2
    if texts > MOST_VALUES:
        return texts
    between = b"".join(bare.split(b'"')[::2])
    return texts + between.count(b"[") + between.count(b"{")


def _depth(error: Any) -> tuple[int, bool, bool]:
    """A value of several possible types has an error of each: the client's is the deepest one, or the one
    whose type it has; true and 1.5 are nearest to an integer."""
    kind, number = error["type"], isinstance(error["input"], int | float)
    return len(error["loc"]), number and kind == "int_type", not kind.endswith("_type")


def _problem(error: Any) -> Problem:
    """An error as a sentence, with its place in the body, which is logged: the names in it are ours."""
    if error["type"] == "json_invalid" and not error["loc"]:
        return Problem(400, f"The body is not JSON: {error['ctx']['error']}.", code="invalid_json")
    place, loc, why = "", error["loc"], error["msg"]
    if why.startswith("Input should be ") and (shown := _shown(error["input"])):
        why += f", not {shown}"
    if error["type"] == "extra_forbidden":
        *loc, name = loc
        why = f"there is no field {name[:100]!r} here"
    for part in loc:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "list", "int"):  # a union's tried type
            place += f".{part}" if place else part
    return Problem(400, f"{place or 'The body'}: {why}.", param=place or None)
