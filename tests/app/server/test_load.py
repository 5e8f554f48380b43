"""Many clients that ask, stream, hang up and send nonsense: no error of ours, every text the right one."""

import json
import random
import re
import socket
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.app.server.running_server import JSON, RunningServer, chat_body, running
from tests.app.tiny_pair import TinyPair

PATH = "/v1/chat/completions"
CLIENTS, SECONDS, SEEDS = 32, 60.0, 12
NONSENSE = (b"", b"{", b"\xff", b'{"messages": 3}', b'{"a":' * 500, b'{"messages": [], "stream": true}')
GROWTH_BYTES = 48_000_000
"""Of both processes, after the first quarter."""

pytestmark = pytest.mark.slow


def asked(seed: int, *, stream: bool) -> dict:
    body = chat_body(f"the small model {seed % 4}" * (1 + seed % 3), seed=seed, temperature=0.2 * (seed % 5))
    return {**body, "max_tokens": 4 + seed, "stream": stream, "draft": {"length": seed % 4}}


def resident_bytes(process: int) -> int:
    """Of the server and of its engine."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    pages = [
        re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{one}/status").read_text()) for one in (process, *children)
    ]
    return sum(int(found[1]) * 1024 for found in pages if found)


class Load:
    """What clients of one server do until a time, and what they saw."""

    def __init__(self, server: RunningServer, alone: dict[int, str]) -> None:
        self.server = server
        self.alone = alone
        self.seen: Counter[str] = Counter()
        self.wrong: list[object] = []
        self.until = time.monotonic() + SECONDS

    def client(self, number: int) -> None:
        chance = random.Random(number)
        deeds = [self.ask, self.ask, self.hang_up, self.send_nonsense, self.look]
        while time.monotonic() < self.until:
            deed = chance.choice(deeds)
            try:
                deed(chance)
            except Exception as error:
                self.wrong.append((deed.__name__, repr(error)))
            self.seen[deed.__name__] += 1

    def ask(self, chance: random.Random) -> None:
        seed, stream = chance.randrange(SEEDS), chance.random() < 0.5
        answer = self.server.ask(PATH, asked(seed, stream=stream))
        if answer.status == 429:
            self.seen["full"] += 1
            time.sleep(0.2)
            return
        text = answer.streamed_text if stream else answer.json["choices"][0]["message"]["content"]
        if (answer.status, text) != (200, self.alone[seed]):
            self.wrong.append((seed, answer))
        self.seen["right"] += 1

    def hang_up(self, chance: random.Random) -> None:
        with self.server.asking(
            PATH, asked(chance.randrange(SEEDS), stream=chance.random() < 0.5)
        ) as connection:
            connection.settimeout(chance.random() / 5)
            try:
                connection.recv(300)
            except TimeoutError:
                pass

    def send_nonsense(self, chance: random.Random) -> None:
        if chance.random() < 0.3:
            with socket.create_connection(self.server.address, timeout=10) as connection:
                connection.sendall(chance.randbytes(200) + b"\r\n\r\n")
                connection.recv(100)
        elif (status := self.server.ask(PATH, chance.choice(NONSENSE), JSON).status) not in (400, 429):
            self.wrong.append(status)

    def look(self, chance: random.Random) -> None:
        path = chance.choice(["/health", "/metrics", "/v1/models", "/nowhere"])
        if self.server.ask(path).status != (404 if path == "/nowhere" else 200):
            self.wrong.append(path)


def test_many_clients_get_right_texts_and_memory_stays(tiny_pair: TinyPair, tmp_path: Path) -> None:
    with running(tmp_path, tiny_pair.arguments) as server:
        alone = {}
        for seed in range(SEEDS):
            answer = server.ask(PATH, asked(seed, stream=False)).json
            alone[seed] = answer["choices"][0]["message"]["content"]
        load = Load(server, alone)
        clients = [threading.Thread(target=load.client, args=(number,)) for number in range(CLIENTS)]
        for each in clients:
            each.start()
        time.sleep(SECONDS / 4)
        early = resident_bytes(server.process.pid)
        for each in clients:
            each.join(60)
        late = resident_bytes(server.process.pid)
        assert load.wrong == [], load.wrong[:3]
        assert load.seen["right"] > 20 and load.seen["hang_up"] > 20, load.seen
        assert late - early < GROWTH_BYTES, (early, late)
        server.wait_for("num_requests_running", 0)
        server.wait_for("num_requests_waiting", 0)
        assert server.metric("request_success_total", 'finished_reason="error"') == 0
        print(json.dumps({**load.seen, "early": early, "late": late}))
    assert not [line for line in server.lines if "failed" in line or "Error" in line], server.lines[-5:]
