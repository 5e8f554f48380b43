"""OpenAI's batch files: a request per line in, an answer per line out, intact after a kill at any time."""

import errno
import fcntl
import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal
from uuid import uuid4

from pydantic import BaseModel, Field, ValidationError

from app.shell.errors import BadInput, MachineFailed
from app.shell.named_file import writing
from app.shell.prompt_source import read_text
from models.files import parse_json, replacing

LARGEST = 2**30
"""Bytes of requests."""
BEGINNING = b'{"id": "batch_req_'
"""Of an answer's line."""


class BatchRequest(BaseModel, frozen=True):
    """A line of the input file."""

    custom_id: Annotated[str, Field(min_length=1)]
    method: Literal["POST"]
    url: Literal["/v1/chat/completions", "/v1/completions", "/v1/responses"]
    body: dict[str, Any]


def read_requests(file: Path) -> list[BatchRequest]:
    """The file's requests in order; BadInput names the first invalid line."""
    requests: dict[str, BatchRequest] = {}
    for number, line in enumerate(read_text(file, LARGEST).split("\n"), 1):
        if not line.strip():
            continue
        try:
            request = BatchRequest.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise BadInput(
                f"Line {number} of {file} is not a batch request: {place and f'{place}: '}{first['msg']}. "
                'Each needs "custom_id", "method": "POST", "url" and "body".'
            ) from None
        if request.custom_id in requests:
            raise BadInput(
                f"Line {number} of {file} repeats an earlier custom_id: {request.custom_id[:100]}."
            )
        requests[request.custom_id] = request
    if not requests:
        raise BadInput(f'{file} holds no requests. Give lines of {{"custom_id", "method", "url", "body"}}.')
    return list(requests.values())


class Answers:
    """The output file, written a line at a time."""

    def __init__(self, file: BinaryIO, answered: set[str]) -> None:
        self._file = file
        self.answered = answered
        """The `custom_id` of each line that is no error."""

    def add(self, custom_id: str, status: int, body: Any) -> None:
        """Append one line; if that fails, MachineFailed, and no part of the line stays."""
        number = uuid4().hex
        response = {"status_code": status, "request_id": number, "body": body}
        line = {"id": f"batch_req_{number}", "custom_id": custom_id, "response": response, "error": None}
        content = json.dumps(line).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(content) < len(content):  # a full disk takes what fits
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._file.truncate(end)
            raise MachineFailed(f"{self._file.name} cannot be written: {error.strerror}.") from error
        if status < 400:
            self.answered.add(custom_id)


@contextmanager
def open_answers(file: Path, asked: Collection[str]) -> Iterator[Answers]:
    """Open the file with the answers of an earlier run. An incomplete last line is removed, and the errors of
    requests in `asked`, which are asked again.

    Raises:
        BadInput: it holds something else, or another program is writing it.
        MachineFailed: it cannot be written.
    """
    answered, lines = set[str](), list[bytes]()
    with _open(file) as opened:
        opened.seek(0)
        content = opened.read()
        end = content.rfind(b"\n") + 1
        try:
            if content[end:][: len(BEGINNING)] != BEGINNING[: len(content) - end]:
                raise ValueError
            for line in content[:end].splitlines(keepends=True):
                name, response = (one := parse_json(line))["custom_id"], one["response"]
                if response and response["status_code"] < 400:
                    answered.add(name)
                if name in answered or name not in asked:
                    lines.append(line)
        except (ValueError, LookupError, TypeError):
            raise BadInput(
                f"{file} holds something else than a batch's answers. Name another file."
            ) from None
        if len(kept := b"".join(lines)) < len(content):
            mode = os.fstat(opened.fileno()).st_mode & 0o777
            with writing(file), replacing(file.resolve(), mode) as new:
                new.write(kept)
    with _open(file) as opened:
        yield Answers(opened, answered)


def _open(file: Path) -> BinaryIO:
    with writing(file):
        opened = open(file, "a+b", buffering=0)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        opened.close()
        raise BadInput(f"Another mlx-spec batch is writing {file}. Wait for it, or name another.") from None
    return opened
