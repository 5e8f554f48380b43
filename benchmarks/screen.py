"""The cost of the screen, in a pseudo-terminal: python -m benchmarks.screen [--repeats 3]

1. Seconds to open a chat of 2,000 messages and draw its end.
2. Share of one core that the screen's process takes while 150 tokens per second stream, in rounds of three:
   prose, and an endless list, code block or table, which are Markdown's worst cases.
3. Tokens per second of the real engine with the built-in pair, plain and drafted, with the screen drawing and
   with its process only reading events. Answers are compared in pairs, seconds apart, in alternating order,
   because a shared machine's speed changes. Three settings: all cores for both processes, a core for each,
   and no screen on either side, which shows the noise of the method.
"""

import argparse
import asyncio
import json
import math
import os
import pty
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.chat_prompt import Message
from app.engine.client import COMMAND, EngineClient
from app.engine.events import DraftRound, Piece, PrefillProgressed, TextAdded, TurnEnded, TurnEvent
from app.engine.process import serve
from app.engine.protocol import Answer, Answered
from app.settings.options import AnswerOptions
from app.tui.app import ChatApp
from app.tui.widgets.answer import Answer as AnswerWidget
from mlx_spec.stats import summarise
from mlx_spec.types import Round
from models.pairs.pair import PairSpec, Source
from models.pairs.resolve import resolve
from tests.app.scripted_engine import ScriptedSession
from tests.app.tui.test_transcript import long_chat

TOKENS_PER_SECOND = 150
ROUND_TOKENS = 3
SIZE = (120, 40)
PROSE = "the target checks what the draft guessed and keeps what it would have written itself. "
LINES = {
    "prose": (PROSE * 4 + "\n\n", ""),
    "list": (f"- **The target**: {PROSE * 2}`in one pass`\n", ""),
    "code": (
        "def accept(draft, target):\n    # what the target would have written\n    return 1 + 2\n\n",
        "```python\n",
    ),
    "table": ("| the target | checks the draft | `1.0` |\n", "| who | what | how much |\n|---|---|--:|\n"),
}
"""(repeated text, its beginning)"""
PROMPT = "Explain speculative decoding in detail, from the beginning."
ENGINE_PAIRS, ENGINE_TOKENS = 40, 100
SHARES = ("all cores for both", "a core for each", "no screen")
DRAFT_LENGTHS = (0, 3)
"""Fixed, because a learned draft length would differ between runs."""
PATIENCE_SECONDS = 600
_TOKEN = re.compile(r"\s?\w+|\s+|[^\w\s]+")
FIRST_DISCARDED = 1_000_000
"""First request id of answers outside the chat."""


class SteadySession(ScriptedSession):
    """Generates text at a fixed rate, up to `max_tokens`."""

    def answer(self, request: Answer, cancelled: Callable[[], bool]) -> Iterator[TurnEvent]:
        prompt, options = cast("Sequence[Message]", request.prompt), request.options
        yield PrefillProgressed(10, 10)
        rounds: list[Round] = []
        line, begin = LINES.get(prompt[-1]["content"], LINES["prose"])
        tokens_of_line = _TOKEN.findall(line)
        start = time.monotonic()
        text: list[str] = []
        while len(rounds) * ROUND_TOKENS < options.max_tokens and not cancelled():
            due = start + (len(rounds) + 1) * ROUND_TOKENS / TOKENS_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))
            words = [tokens_of_line[(len(text) + n) % len(tokens_of_line)] for n in range(ROUND_TOKENS)]
            if not text:
                words[0] = begin + words[0]
            text += words
            rounds.append(Round((1, 2), 2, (1, 2, 3), "model", ROUND_TOKENS / TOKENS_PER_SECOND))
            pieces = (Piece(words[0] + words[1], "accepted"), Piece(words[2], "bonus"))
            tokens = len(rounds) * ROUND_TOKENS
            seconds = tokens / TOKENS_PER_SECOND
            described = _described(words, sum(map(len, text)))
            yield TextAdded(pieces, tokens, seconds, TOKENS_PER_SECOND, 1_000_000_000, (described,))
        yield TurnEnded("".join(text), (), "length", options.seed, summarise(rounds))


def _described(words: Sequence[str], end: int) -> DraftRound:
    """The details of a round, as the gauges and the saved chat use them."""
    begin = end - sum(map(len, words))
    seconds = ROUND_TOKENS / TOKENS_PER_SECOND
    return DraftRound("model", tuple(words[:2]), 2, words[2], seconds, seconds / 4, begin, end)


class MeasuredApp(ChatApp):
    """Runs one scenario and exits."""

    CSS_PATH = Path(sys.modules[ChatApp.__module__].__file__ or "").with_name("chat.tcss")

    def __init__(self, link: EngineLink, settings: Settings, scenario: str, result: Path) -> None:
        super().__init__(link, settings)
        self._scenario = scenario
        self._result = result
        self._asked = 0

    def on_ready(self) -> None:
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        measured = await (self._open() if self._scenario == "open" else self._stream())
        self._result.write_text(json.dumps(measured))
        self.exit()

    async def _open(self) -> dict[str, Any]:
        chat, messages = long_chat()
        await asyncio.sleep(1)
        start = time.monotonic()
        self.chat.state.resume(chat, messages)
        await _until(
            lambda: bool(self.chat.query(AnswerWidget)) and self.chat.transcript.is_vertical_scroll_end
        )
        drawn = asyncio.Event()
        self.chat.transcript.call_after_refresh(drawn.set)
        await drawn.wait()
        return {"seconds": time.monotonic() - start, "messages": len(messages)}

    async def _stream(self) -> dict[str, Any]:
        await _until(lambda: self.link.state != "loading")
        if self._scenario in LINES:
            return await self._answered(self._scenario)
        await _until(lambda: self.link.tuning is None)
        await self._answered()  # warm-up
        if self._scenario == "a core for each":
            _hold(os.getpid(), 0)
            _hold(self.link.client.pid or 0, 1)
        beside, alone = [], []
        self._discarded()
        for pair in range(ENGINE_PAIRS):
            if pair % 2:
                alone.append(self._discarded())
            shown = self._scenario != "no screen"
            beside.append((await self._answered())["tokens_per_second"] if shown else self._discarded())
            if not pair % 2:
                alone.append(self._discarded())
        return {"ratios": [b / a for b, a in zip(beside, alone, strict=True)], "alone": alone}

    def _discarded(self) -> float:
        """Tokens per second of an answer whose events are read and discarded, without drawing."""
        self._asked += 1
        client, request = self.link.client, FIRST_DISCARDED + self._asked
        messages = (Message(role="user", content=PROMPT),)
        client.send(Answer(request, messages, self.chat.state.settings.for_answer()))
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            for event in client.poll():
                if isinstance(event, Answered) and event.id == request and isinstance(event.event, TurnEnded):
                    return event.event.stats.tokens_per_second
            time.sleep(0.05)
        raise TimeoutError("the engine did not answer")

    async def _answered(self, prompt: str = PROMPT) -> dict[str, Any]:
        self.chat.state.clear()
        self.chat.state.send(prompt)
        await _until(lambda: bool(self.chat.state.running and self.chat.state.running.log.text))
        wall, used = time.monotonic(), time.process_time()
        # Polled slowly: two hundred times a second takes a percent of a core.
        await _until(lambda: self.chat.state.running is None, every=0.1)
        wall, used = time.monotonic() - wall, time.process_time() - used
        facts = next(m.facts for m in self.chat.state.conversation.tree.values() if m.facts is not None)
        assert facts.stats is not None
        return {"core_share": used / wall, "tokens_per_second": facts.stats.tokens_per_second}


def inside(scenario: str, seconds: float, draft_length: int, result: Path) -> None:
    """The screen's process, in the terminal that it was started in."""
    steady = (sys.executable, "-m", "benchmarks.screen", "serve")
    real = scenario in SHARES
    pair = resolve("builtin") if real else PairSpec("steady", Source("/target"), Source("/draft"))
    link = EngineLink(EngineClient(result.parent / "engine.log", COMMAND if real else steady), pair)
    link.start()
    tokens = ENGINE_TOKENS if real else max(1, round(seconds * TOKENS_PER_SECOND))
    try:
        options = AnswerOptions(max_tokens=tokens, draft_length=draft_length)
        MeasuredApp(link, Settings.of(options), scenario, result).run()
    finally:
        link.close()


def in_a_terminal(scenario: str, seconds: float = 0, draft_length: int = 0) -> dict[str, Any]:
    """Run a scenario in a pseudo-terminal, reading its output."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        main_end, other_end = pty.openpty()
        environment = os.environ | {
            "MLX_SPEC_HOME": folder, "TERM": "xterm-256color", "COLUMNS": str(SIZE[0]), "LINES": str(SIZE[1]),
        }  # fmt: skip
        inside = ["inside", scenario, str(seconds), str(draft_length), str(result)]
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.screen", *inside],
            stdin=other_end, stdout=other_end, stderr=other_end, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(other_end)
        threading.Thread(target=_drain, args=(main_end,), daemon=True).start()
        process.wait(PATIENCE_SECONDS)
        return json.loads(result.read_text())


async def _until(holds: Callable[[], bool], every: float = 0.005) -> None:
    while not holds():
        await asyncio.sleep(every)


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        return


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10, help="how long to stream")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    results: dict[str, Any] = {}
    repeats = range(given.repeats)
    opened = statistics.median(in_a_terminal("open")["seconds"] for _ in repeats)
    print(f"2,000 messages open in {opened:.2f} s (wanted: under 1)")
    results |= {"open_2000_seconds": opened, "core_share": {}}
    for kind in LINES:
        share = statistics.median(in_a_terminal(kind, given.seconds)["core_share"] for _ in repeats)
        results["core_share"][kind] = share
        print(f"streaming {TOKENS_PER_SECOND} tokens/s, {kind}: {share:.1%} of a core (wanted: under 15 %)")
    print("the engine beside the screen, of its speed without (wanted: 0.97):")
    results["engine"] = [
        {"share": share, "drafted": length} | beside_the_screen(share, length, given.repeats)
        for share in SHARES
        for length in DRAFT_LENGTHS
    ]
    print(json.dumps(results))


def beside_the_screen(share: str, draft_length: int, repeats: int) -> dict[str, float]:
    """The engine's speed with the screen over its speed without: mean of all pairs, and standard error."""
    runs = [in_a_terminal(share, draft_length=draft_length) for _ in range(repeats)]
    ratios: list[float] = sum((run["ratios"] for run in runs), [])
    alone = statistics.median(sum((run["alone"] for run in runs), []))
    mean, error = statistics.fmean(ratios), statistics.stdev(ratios) / math.sqrt(len(ratios))
    print(
        f"{share}, {draft_length} drafted: "
        f"{mean:.3f} ± {error:.3f} of {alone:.1f} tok/s in {len(ratios)} pairs"
    )
    return {"ratio": mean, "error": error, "alone": alone}


def _hold(pid: int, core: int) -> None:
    """Pin all threads of a process to one core; new threads inherit it."""
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), {core})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", read_end, write_end]:
            serve(
                Connection(int(read_end), writable=False),
                Connection(int(write_end), readable=False),
                SteadySession,  # type: ignore[arg-type]
            )
        case ["inside", scenario, seconds, draft_length, result]:
            inside(scenario, float(seconds), int(draft_length), Path(result))
        case _:
            main()
