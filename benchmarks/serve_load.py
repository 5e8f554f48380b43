"""`python -m benchmarks.serve_load`: ten minutes of clients that ask, stream, disconnect and send nonsense.

Every completed text must equal that of the same request sent alone, no request may fail with a server error,
and the memory of the server's two processes must stay flat; otherwise the exit code is 1. On Linux it runs
with MLX's own BLAS, whose rows have the same bits in passes of any size. The last line of stdout is one JSON
document.
"""

import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any

import typer

from app.shell.output import Progress, data, talk
from benchmarks.peers.report import dated_line
from models.paths import data_folder
from tests.app.server.running_server import JSON, RunningServer, chat_body, running

PATH = "/v1/chat/completions"
SEEDS = 12
NONSENSE = (b"", b"{", b"\xff", b'{"messages": 3}', b'{"a":' * 500, b'{"messages": [], "stream": true}')
GROWTH_BYTES = 48_000_000
"""Allowed growth of both processes, from the second quarter of the run to the last."""


def asked(seed: int, *, stream: bool) -> dict[str, Any]:
    """The request of a seed: prompt, answer length, temperature and draft length vary."""
    body = chat_body(f"the small model {seed % 4}" * (1 + seed % 3), seed=seed, temperature=0.2 * (seed % 5))
    length = ("auto", 0, 1, 3)[seed % 4]
    return {**body, "max_tokens": 4 + seed, "stream": stream, "draft": {"length": length}}


def resident_bytes(process: int) -> int:
    """Resident memory of the server and its engine's process."""
    table = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss="], check=True, capture_output=True, text=True
    ).stdout
    rows = [map(int, line.split()) for line in table.splitlines()]
    return sum(kilobytes * 1024 for number, parent, kilobytes in rows if process in (number, parent))


@dataclass
class Outcome:
    """Results of all clients: counts of their actions (`done`), and errors (`wrong`)."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of each completed request."""
    memory: list[int] = field(default_factory=list)
    """Bytes, at equal intervals."""

    @property
    def growth(self) -> int:
        """Growth of the median memory in bytes, from the second quarter to the last."""
        quarter = len(self.memory) // 4
        return int(median(self.memory[-quarter:]) - median(self.memory[quarter : 2 * quarter]))

    @property
    def complaints(self) -> list[str]:
        found = list(self.wrong)
        if self.growth > GROWTH_BYTES:
            found.append(f"The memory grew by {self.growth / 1e6:.0f} MB.")
        if not all(self.done[deed] for deed in ("complete", "hang_up", "send_nonsense")):
            found.append(f"The clients did too little: {dict(self.done)}.")
        return found


class Clients:
    """Clients of one server, until a time. `alone`: the correct text of each seed."""

    def __init__(self, server: RunningServer, alone: dict[int, str], until: float) -> None:
        self.outcome = Outcome()
        self._server, self._alone, self._until = server, alone, until

    def act(self, number: int) -> None:
        """Run one client."""
        chance = random.Random(number)
        deeds = [self.complete, self.complete, self.hang_up, self.send_nonsense, self.look]
        while time.monotonic() < self._until:
            deed = chance.choice(deeds)
            try:
                deed(chance)
            except Exception as error:
                self.outcome.wrong.append(f"{deed.__name__}: {error!r}")
            self.outcome.done[deed.__name__] += 1

    def complete(self, chance: random.Random) -> None:
        seed, stream = chance.randrange(SEEDS), chance.random() < 0.5
        start = time.monotonic()
        answer = self._server.ask(PATH, asked(seed, stream=stream))
        if answer.status == 429:
            self.outcome.done["full"] += 1
            time.sleep(0.2)
            return
        if answer.status != 200:
            self.outcome.wrong.append(f"seed {seed}: {answer.status} {answer.body[:300]!r}")
            return
        text = answer.streamed_text if stream else answer.json["choices"][0]["message"]["content"]
        if text != self._alone[seed]:
            self.outcome.wrong.append(f"seed {seed}: {text!r}, alone {self._alone[seed]!r}")
        self.outcome.seconds.append(time.monotonic() - start)

    def hang_up(self, chance: random.Random) -> None:
        body = asked(chance.randrange(SEEDS), stream=chance.random() < 0.5)
        with self._server.asking(PATH, body) as connection:
            connection.settimeout(chance.random() / 5)
            try:
                connection.recv(300)
            except TimeoutError:
                pass

    def send_nonsense(self, chance: random.Random) -> None:
        kind = chance.random()
        if kind < 0.4:
            with socket.create_connection(self._server.address, timeout=10) as connection:
                if kind < 0.2:
                    connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: local")
                    time.sleep(chance.random())
                else:
                    connection.sendall(chance.randbytes(200) + b"\r\n\r\n")
                    connection.recv(100)
        elif (status := self._server.ask(PATH, chance.choice(NONSENSE), JSON).status) not in (400, 429):
            self.outcome.wrong.append(f"nonsense: {status}")

    def look(self, chance: random.Random) -> None:
        path = chance.choice(["/health", "/metrics", "/v1/models", "/nowhere"])
        status = self._server.ask(path).status
        if status != (404 if path == "/nowhere" else 200):
            self.outcome.wrong.append(f"{path}: {status}")


def load(home: Path, arguments: Sequence[str], seconds: float, clients: int) -> Outcome:
    """Start a server with these arguments, load it with clients, and stop it.

    Args:
        home: the server's `MLX_SPEC_HOME`.
        seconds: how long the clients start new requests.
    """
    blas = "reference" if sys.platform == "linux" else ""
    with running(home, arguments, MLX_SPEC_BLAS=blas) as server, Progress() as line:
        alone = {}
        for seed in range(SEEDS):
            answer = server.ask(PATH, asked(seed, stream=False)).json
            alone[seed] = answer["choices"][0]["message"]["content"]
        until = time.monotonic() + seconds
        acting = Clients(server, alone, until)
        outcome = acting.outcome
        threads = [threading.Thread(target=acting.act, args=(number,)) for number in range(clients)]
        for each in threads:
            each.start()
        while (left := until - time.monotonic()) > 0:
            outcome.memory.append(resident_bytes(server.process.pid))
            line.show(f"{len(outcome.seconds)} answers, {len(outcome.wrong)} wrong, {left:.0f} s left")
            time.sleep(min(left, max(0.1, seconds / 200)))
        for each in threads:
            each.join(60)
        for gauge in ("num_requests_running", "num_requests_waiting"):
            server.wait_for(gauge, 0)
        if errors := server.metric("request_success_total", 'finished_reason="error"'):
            outcome.wrong.append(f"{errors:.0f} requests failed in the engine.")
    outcome.wrong += [line for line in server.lines if "failed" in line or "Error" in line]
    return outcome


def main(
    pair: Annotated[str, typer.Argument(help="A pair that is installed.")] = "builtin",
    minutes: Annotated[float, typer.Option(min=0.1)] = 10,
    clients: Annotated[int, typer.Option(min=1)] = 32,
) -> None:
    """Load a server of the pair, and say what went wrong."""
    outcome = load(data_folder(), [pair], minutes * 60, clients)
    cuts = quantiles(outcome.seconds, n=100) if len(outcome.seconds) > 1 else [0.0] * 99
    summary = {
        "done": dict(outcome.done),
        "answers": len(outcome.seconds),
        "seconds_median": round(cuts[49], 3),
        "seconds_p99": round(cuts[98], 3),
        "memory_mb": [round(each / 1e6) for each in outcome.memory[:: max(1, len(outcome.memory) // 20)]],
        "growth_mb": round(outcome.growth / 1e6, 1),
        "wrong": len(outcome.wrong),
    }
    for complaint in outcome.complaints[:20]:
        talk(complaint)
    data(
        f"{summary['answers']} answers, {summary['wrong']} wrong, a median of {summary['seconds_median']} s "
        f"(99 %: {summary['seconds_p99']} s), memory {summary['growth_mb']:+} MB"
    )
    data(dated_line({**summary, "pair": pair, "minutes": minutes, "clients": clients}))
    if outcome.complaints:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
