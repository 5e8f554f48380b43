"""The interface of `EngineClient` over HTTP: a running `mlx-spec serve` replaces the engine process."""

import os
import queue
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import httpx2
from pydantic import TypeAdapter

from app.engine import protocol
from app.engine.events import PairInfo, TurnEnded, TurnEvent
from app.engine.protocol import Answer, Answered, AnswerFailed, EngineEvent, LoadFailed, Request
from app.shell.errors import BadInput

CONNECT_SECONDS = 5.0
QUIET_SECONDS = 60.0
"""Read timeout; the server sends a line at least every ten seconds."""
_LOADED = "/mlx-spec/pair"
"""Says when to ask again while the pair loads."""
PAIR = TypeAdapter(PairInfo)
_ANSWER = TypeAdapter(Answer)
LINE: TypeAdapter[TurnEvent | AnswerFailed] = TypeAdapter(TurnEvent | AnswerFailed)
"""A line of an answer: an event, or an error in place of the last one."""
T = TypeVar("T")


class ServerClient:
    """Each answer has a connection and a thread of its own.

    Args:
        url: as the server prints it, with or without `/v1`.
        key: the API key, if the server requires one.
    """

    log_path = Path("the server's own")

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url.removesuffix("/").removesuffix("/v1")
        headers = {b"authorization": os.fsencode(f"Bearer {key}")} if key else {}
        timeout = httpx2.Timeout(QUIET_SECONDS, connect=CONNECT_SECONDS)
        try:
            if not self.url.startswith(("http://", "https://")):
                raise httpx2.InvalidURL("no scheme")
            self._http = httpx2.Client(base_url=self.url, headers=headers, timeout=timeout)
        except httpx2.InvalidURL:
            raise BadInput(
                f"--server is {url or 'empty'}; it must be an address like http://localhost:8080."
            ) from None
        self.url = re.sub(r"//[^/]*@", "//***@", self.url)  # shown from here on, without a password
        self._events: queue.SimpleQueue[EngineEvent] = queue.SimpleQueue()
        self._name = uuid4().hex
        self._pair: str | None = None
        self._cancelled: set[int] = set()
        self.alive = True
        """False once no server had the pair: it is asked for again before the next request."""

    is_server = True
    pid = None

    def pair_name(self) -> str:
        """The served pair's name. BadInput if no server answers, or another program does."""
        return self._ask("/v1/models", lambda r: str(r.json()["data"][0]["id"]))

    def start(self) -> None:
        """Nothing to start: the server runs, or runs again."""
        self.alive = True

    def send(self, request: Request) -> None:
        match request:
            case protocol.Load(pair):
                self._pair = pair.name
                self._begin(self._load, pair.name)
            case Answer():
                self._begin(self._answer, request)
            case protocol.Cancel(number):
                self._begin(self._cancel, number)
            case protocol.Explain(number):
                message = f"Differences are only explained on the machine that runs the model ({self.url})."
                self._events.put(AnswerFailed(number, message, refused=True))

    def poll(self) -> list[EngineEvent]:
        return [self._events.get_nowait() for _ in range(self._events.qsize())]

    def close(self) -> None:
        self._http.close()

    def _begin(self, work: Callable[..., None], *given: object) -> None:
        def run() -> None:
            try:
                work(*given)
            except RuntimeError:  # the client was closed meanwhile, so nobody waits for the result
                if not self._http.is_closed:
                    raise

        threading.Thread(target=run, daemon=True).start()

    def _load(self, name: str) -> None:
        try:
            info = self._ask(_LOADED, lambda response: PAIR.validate_json(response.content))
            if info.name != name:
                raise BadInput(f"{self.url} serves {info.name}. For {name} here: mlx-spec chat {name}.")
        except BadInput as error:
            self.alive = False
            self._events.put(LoadFailed(str(error)))
        else:
            self._events.put(protocol.Loaded(info))

    def _answer(self, request: Answer) -> None:
        answer, call = _ANSWER.dump_python(request, mode="json"), self._call(request.id)
        asked = {"answer": answer, "call": call, "pair": self._pair}
        try:
            with self._http.stream("POST", "/mlx-spec/answer", json=asked) as response:
                if response.status_code != httpx2.codes.OK:
                    response.read()
                    refused = response.status_code < 500
                    self._events.put(AnswerFailed(request.id, _error_text(response), refused))
                    return
                if request.id in self._cancelled:  # the server may not have known the answer yet
                    self._cancel(request.id)
                for line in filter(str.strip, response.iter_lines()):
                    event = LINE.validate_json(line)
                    failed = isinstance(event, AnswerFailed)
                    self._events.put(replace(event, id=request.id) if failed else Answered(request.id, event))
                    if failed or isinstance(event, TurnEnded):
                        return
                raise httpx2.ReadError("it was closed before the answer's end")
        except httpx2.ConnectError as error:
            self.alive, why = False, self._unreachable(error)
            self._events.put(LoadFailed(why))
            self._events.put(AnswerFailed(request.id, why))
        except (httpx2.HTTPError, ValueError) as error:
            is_foreign = isinstance(error, ValueError)
            why = "a line was not mlx-spec's" if is_foreign else str(error) or type(error).__name__
            self._events.put(AnswerFailed(request.id, f"The connection to {self.url} broke: {why}."))

    def _cancel(self, number: int) -> None:
        self._cancelled.add(number)
        asked = {"call": self._call(number)}
        try:
            self._http.post("/mlx-spec/cancel", json=asked, timeout=CONNECT_SECONDS)
        except httpx2.HTTPError as error:  # the answer's own connection may be silent for long
            self._events.put(AnswerFailed(number, self._unreachable(error)))

    def _call(self, number: int) -> str:
        return f"{self._name}-{number}"

    def _unreachable(self, error: httpx2.HTTPError) -> str:
        why = str(error) or type(error).__name__
        return f"No server answers at {self.url} ({why}). Start one there: mlx-spec serve."

    def _ask(self, path: str, read: Callable[[httpx2.Response], T]) -> T:
        try:
            while "retry-after" in (response := self._http.get(path)).headers and path == _LOADED:
                time.sleep(0.5)
        except httpx2.HTTPError as error:
            raise BadInput(self._unreachable(error)) from None
        if response.status_code != httpx2.codes.OK:
            raise BadInput(f"{self.url} says: {_error_text(response)}")
        try:
            return read(response)
        except (ValueError, LookupError, TypeError):
            raise BadInput(f"The server at {self.url} is not mlx-spec of this version.") from None


def _error_text(response: httpx2.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return f"status {response.status_code}. Is an mlx-spec serve of this version there?"
