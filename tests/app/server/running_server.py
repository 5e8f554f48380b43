"""Our server in its own process, and raw HTTP to it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CHAT = "/v1/chat/completions"
Headers = Mapping[str, str | bytes]
JSON: Headers = {"Content-Type": "application/json"}
SCRIPTED = ("-m", "tests.app.server.scripted_server")
REAL = ("-m", "app", "serve", "--port", "0")
START_SECONDS = 60


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]

    @property
    def events(self) -> list[Any]:
        """The JSON of a stream's `data:` lines, without `[DONE]`."""
        lines = self.body.decode().splitlines()
        found = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(line) for line in found if line != "[DONE]"]

    @property
    def names(self) -> list[str]:
        """The names of a stream's events, repetitions joined; each frame has the name twice."""
        found = [line[7:] for line in self.body.decode().splitlines() if line.startswith("event: ")]
        assert found == [event["type"] for event in self.events]
        return [name for name, _ in groupby(found)]

    @property
    def streamed_text(self) -> str:
        return "".join(
            choice["delta"].get("content") or "" for event in self.events for choice in event["choices"]
        )


@dataclass
class RunningServer:
    process: subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)
    """The lines of its stderr."""
    key: str | None = None

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None and parts.port is not None
        return parts.hostname, parts.port

    def ask(
        self, path: str, body: Any = None, headers: Headers | None = None, method: str | None = None
    ) -> Answer:
        """One request on its own connection; a body that is not bytes is sent as JSON.
        Headers are in place of the server's key and the type of the body."""
        connection = HTTPConnection(*self.address, timeout=60)
        try:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            own: Headers = {**JSON, "x-api-key": (self.key or "").encode()}
            given: Any = own if headers is None else headers
            connection.request(method or ("GET" if body is None else "POST"), path, sent, given)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def chat(self, said: str, **more: Any) -> Answer:
        return self.ask(CHAT, chat_body(said, **more))

    def text(self, said: str, **more: Any) -> str:
        """The text of the chat's answer."""
        return self.chat(said, **more).json["choices"][0]["message"]["content"]

    @contextmanager
    def asking(self, path: str, body: Any) -> Iterator[socket.socket]:
        """Send a request without reading its answer; leaving closes the connection."""
        sent = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(sent)}\r\n\r\n"
        )
        with socket.create_connection(self.address, timeout=30) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)  # else it grows to megabytes
            connection.sendall(head.encode() + sent)
            yield connection

    def wait_until_loaded(self) -> None:
        """Asking for its health starts an engine that died."""
        until = time.monotonic() + START_SECONDS
        while True:
            with suppress(ConnectionError):  # not even started, or closed because this process was held up
                if self.ask("/health").status == 200:
                    return
            assert time.monotonic() < until, self.lines
            time.sleep(0.05)

    def metric(self, name: str, label: str = "") -> float:
        """The sum of the metric's samples that have the label."""
        lines = self.ask("/metrics").body.decode().splitlines()
        return sum(
            float(line.split()[-1])
            for line in lines
            if line.startswith(f"mlx_spec:{name}{{") and label in line
        )

    def wait_for(self, name: str, value: float, label: str = "", seconds: float = 10.0) -> None:
        until = time.monotonic() + seconds
        while (found := self.metric(name, label)) != value:
            assert time.monotonic() < until, f"{name} is {found}, not {value}"
            time.sleep(0.03)

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()


def chat_body(said: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": said}], **more}


@contextmanager
def running(
    home: Path,
    arguments: Sequence[str],
    *,
    program: Sequence[str] = REAL,
    loads: bool = True,
    **environment: str,
) -> Iterator[RunningServer]:
    """A server that has loaded its pair, or if not `loads`, has only started."""
    process = subprocess.Popen(
        [sys.executable, *program, *arguments],
        env=os.environ | {"MLX_SPEC_HOME": str(home)} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    server = RunningServer(process, "", key=environment.get("MLX_SPEC_API_KEY"))
    reader = threading.Thread(target=lambda: server.lines.extend(process.stderr or ()), daemon=True)
    reader.start()
    try:
        line = process.stdout.readline()
        if not line:
            reader.join(5)  # it ends: why is still being read
        assert "http://" in line, (line, server.lines)
        server.url = next(word for word in line.split() if word.startswith("http://"))
        if loads:
            server.wait_until_loaded()
        yield server
    finally:
        if process.poll() is None:
            assert server.end() == 0
        process.stdout.close()
        reader.join(5)
        process.stderr.close()
