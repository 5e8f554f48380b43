"""OpenAI's batch files: a request per line in, an answer per line out, intact after a kill at any time."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from app.shell.errors import BadInput, MachineFailed
from app.shell.prompt_source import read_text

LARGEST = 2**30
"""Bytes of requests."""


class BatchRequest(BaseModel):
    """A line of the input file."""

    model_config = ConfigDict(strict=True, frozen=True)

    custom_id: str
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

    def __init__(self, file: BinaryIO, answered: set[str], refused: set[str]) -> None:
        self._file = file
        self.answered = answered
        """The `custom_id` of each line."""
        self.refused = refused
        """Those whose answer is an error."""

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
        self.answered.add(custom_id)
        if status >= 400:
            self.refused.add(custom_id)


@contextmanager
def open_answers(file: Path) -> Iterator[Answers]:
    """Open the file with the answers of an earlier run; an incomplete last line is removed.

    Raises:
        BadInput: it holds something else, or another program is writing it.
        MachineFailed: it cannot be opened.
    """
    try:
        opened = open(file, "a+b", buffering=0)
    except OSError as error:
        raise MachineFailed(f"{file} cannot be written: {error.strerror}.") from error
    with opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"Another mlx-spec batch is writing {file}. Wait for it, or name another."
            ) from None
        opened.seek(0)
        content = opened.read()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            answered = {line["custom_id"]: line["response"] for line in lines if line["response"]}
            refused = {name for name, response in answered.items() if response["status_code"] >= 400}
        except (ValueError, LookupError, TypeError):
            raise BadInput(
                f"{file} holds something else than a batch's answers. Name another file."
            ) from None
        opened.truncate(len(whole))
        yield Answers(opened, set(answered), refused)
