"""What the screen costs, in a real terminal (a pseudo one): python -m tests.app.tui.performance [--repeats 3]

1. Seconds until a chat of 2,000 messages is open and its end is drawn.
2. Share of one core that the screen's process takes while 150 tokens a second stream, rounds of three.
3. Tokens per second of the real engine with the built-in pair, with the screen and with nothing but a pipe,
   plain (about 150 tokens a second on 2 cores) and drafted: the median of a run's answers, sides in turn.
"""

import argparse
import asyncio
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from app.chat_prompt import Message
from app.engine_client import COMMAND, EngineClient
from app.engine_process import serve
from app.engine_protocol import Answer, Answered, Load
from app.events import DraftRound, PairInfo, Piece, PrefillProgressed, TextAdded, TurnEnded, TurnEvent
from app.tui.app import ChatApp
from app.tui.engine_link import EngineLink
from app.tui.settings import Settings
from app.tui.widgets.answer import Answer as AnswerWidget
from mlx_spec.stats import summarise
from mlx_spec.types import Options, Round
from models.pair import PairSpec, Source
from models.resolve import resolve
from tests.app.tui.test_transcript import long_chat

TOKENS_PER_SECOND = 150
ROUND_TOKENS = 3
SIZE = (120, 40)
WORDS = "the target checks what the draft guessed and keeps what it would have written itself".split()
PROMPT = "Explain speculative decoding in detail, from the beginning."
ENGINE_ANSWERS, ENGINE_TOKENS = 24, 200
"""Many answers a run: a shared machine changes its pace by the second."""
DRAFT_LENGTHS = (0, 3)
"""The same for both sides: one that is being learned would differ from run to run."""
PATIENCE_SECONDS = 120


class SteadySession:
    """Answers at a fixed pace, for as long as `max_tokens` say."""

    def __init__(self, spec: PairSpec) -> None:
        self.is_tuned = True
        self.info = PairInfo(spec.name, 100_000, "test (cpu)", 1_000_000, True)

    def tune(self, progress: Callable[[int, int], None], skipped: Callable[[], bool]) -> None:
        """Nothing to measure."""

    def keep(self) -> None:
        """Nothing was learned."""

    def answer(
        self,
        prompt: Sequence[Message],
        options: Options,
        *,
        stop_texts: Sequence[str],
        documents: Sequence[str],
        begun: str,
        cancelled: Callable[[], bool],
        progress: Callable[[PrefillProgressed], None],
    ) -> Iterator[TurnEvent]:
        progress(PrefillProgressed(10, 10))
        rounds: list[Round] = []
        start = time.monotonic()
        text: list[str] = []
        while len(rounds) * ROUND_TOKENS < options.max_tokens and not cancelled():
            due = start + (len(rounds) + 1) * ROUND_TOKENS / TOKENS_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))
            words = [f" {WORDS[(len(text) + n) % len(WORDS)]}" for n in range(ROUND_TOKENS)]
            if len(rounds) % 25 == 24:
                words[-1] += "\n\n"
            text += words
            rounds.append(Round((1, 2), 2, (1, 2, 3), "model", ROUND_TOKENS / TOKENS_PER_SECOND))
            pieces = (Piece(words[0] + words[1], "accepted"), Piece(words[2], "bonus"))
            tokens = len(rounds) * ROUND_TOKENS
            seconds = tokens / TOKENS_PER_SECOND
            yield TextAdded(
                pieces,
                tokens,
                seconds,
                TOKENS_PER_SECOND,
                len(rounds) * 2,
                len(rounds) * 2,
                len(rounds),
                1_000_000_000,
                (_described(words, sum(map(len, text))),),
            )
        yield TurnEnded("".join(text), (), "length", options.seed, summarise(rounds))

    def difference(
        self, prompt: Sequence[Message], options: Options, plain: Sequence[int], drafted: Sequence[int]
    ) -> None:
        """Nothing is compared here."""


def _described(words: Sequence[str], end: int) -> DraftRound:
    """One of the rounds, as the gauges and the saved chat take it."""
    begin = end - sum(map(len, words))
    seconds = ROUND_TOKENS / TOKENS_PER_SECOND
    return DraftRound("model", tuple(words[:2]), 2, words[2], seconds, seconds / 4, begin, end)


class MeasuredApp(ChatApp):
    """Runs one scenario and leaves."""

    CSS_PATH = Path(sys.modules[ChatApp.__module__].__file__ or "").with_name("chat.tcss")

    def __init__(self, link: EngineLink, settings: Settings, scenario: str, result: Path) -> None:
        super().__init__(link, settings)
        self._scenario = scenario
        self._result = result

    def on_ready(self) -> None:
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        measured = await (self._open() if self._scenario == "open" else self._stream())
        self._result.write_text(json.dumps(measured))
        self.exit()

    async def _open(self) -> dict[str, float]:
        chat, messages = long_chat()
        await asyncio.sleep(1)
        start = time.monotonic()
        self.chat.resume(chat, messages)
        await _until(
            lambda: bool(self.chat.query(AnswerWidget)) and self.chat.transcript.is_vertical_scroll_end
        )
        drawn = asyncio.Event()
        self.chat.transcript.call_after_refresh(drawn.set)
        await drawn.wait()
        return {"seconds": time.monotonic() - start, "messages": len(messages)}

    async def _stream(self) -> dict[str, float]:
        await _until(lambda: self.link.state == "ready")
        if self._scenario == "stream":
            return await self._answered()
        await self._answered()  # the first answer pays for first use
        rates = [(await self._answered())["tokens_per_second"] for _ in range(ENGINE_ANSWERS)]
        return {"tokens_per_second": statistics.median(rates)}

    async def _answered(self) -> dict[str, float]:
        self.chat.clear()
        self.chat.answering.send(PROMPT)
        await _until(lambda: bool(self.chat.running and self.chat.running.text))
        wall, used = time.monotonic(), time.process_time()
        # Looked at seldom: looking two hundred times a second took a percent of a core itself.
        await _until(lambda: self.chat.running is None, every=0.1)
        wall, used = time.monotonic() - wall, time.process_time() - used
        facts = next(m.facts for m in self.chat.conversation.tree if m.facts is not None)
        assert facts.stats is not None
        return {"core_share": used / wall, "tokens_per_second": facts.stats.tokens_per_second}


def inside(scenario: str, seconds: float, draft_length: int, result: Path) -> None:
    """The screen's process: runs on whatever terminal it was given."""
    steady = (sys.executable, "-m", "tests.app.tui.performance", "serve")
    real = scenario == "engine"
    pair = resolve(None, None, None) if real else PairSpec("steady", Source("/target"), Source("/draft"))
    link = EngineLink(EngineClient(result.parent / "engine.log", COMMAND if real else steady), pair)
    link.start()
    tokens = ENGINE_TOKENS if real else max(1, round(seconds * TOKENS_PER_SECOND))
    try:
        options = Options(max_tokens=tokens, draft_length=draft_length)
        MeasuredApp(link, Settings.of(options), scenario, result).run()
    finally:
        link.close()


def in_a_terminal(scenario: str, seconds: float = 0, draft_length: int = 0) -> dict[str, float]:
    """Run a scenario in a pseudo-terminal whose output is read as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        main_end, other_end = pty.openpty()
        environment = os.environ | {
            "MLX_SPEC_HOME": folder, "TERM": "xterm-256color", "COLUMNS": str(SIZE[0]), "LINES": str(SIZE[1]),
        }  # fmt: skip
        command = [
            sys.executable,
            "-m",
            "tests.app.tui.performance",
            "inside",
            scenario,
            str(seconds),
            str(draft_length),
            str(result),
        ]
        process = subprocess.Popen(
            command,
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            env=environment,
            start_new_session=True,
        )
        os.close(other_end)
        threading.Thread(target=_drain, args=(main_end,), daemon=True).start()
        process.wait(PATIENCE_SECONDS)
        return json.loads(result.read_text())


def without_a_screen(draft_length: int) -> float:
    """Tokens per second of the same engine, its events read from the pipe and thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLX_SPEC_HOME"] = folder  # as new as beside the screen: it calibrates itself first
        client = EngineClient(Path(folder) / "engine.log")
        client.start()
        client.send(Load(resolve(None, None, None)))
        messages = (Message(role="user", content=PROMPT),)
        options = Options(max_tokens=ENGINE_TOKENS, draft_length=draft_length)
        rates = []
        for request in range(1 + ENGINE_ANSWERS):
            client.send(Answer(request, messages, options))
            rates.append(_rate(client, request))
        client.close()
        return statistics.median(rates[1:])


def _rate(client: EngineClient, request: int) -> float:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        for event in client.poll():
            if isinstance(event, Answered) and event.id == request and isinstance(event.event, TurnEnded):
                return event.event.stats.tokens_per_second
        time.sleep(0.05)
    raise TimeoutError("the engine did not answer")


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
    opened = [in_a_terminal("open")["seconds"] for _ in range(given.repeats)]
    results["open_2000_seconds"] = statistics.median(opened)
    print(f"2,000 messages open in {statistics.median(opened):.2f} s (wanted: under 1)")
    shares = [in_a_terminal("stream", given.seconds)["core_share"] for _ in range(given.repeats)]
    results["core_share"] = statistics.median(shares)
    share = statistics.median(shares)
    print(f"streaming {TOKENS_PER_SECOND} tokens/s takes {share:.1%} of a core (wanted: under 15 %)")
    results["engine_ratios"] = {length: beside_the_screen(length, given.repeats) for length in DRAFT_LENGTHS}
    print(json.dumps(results))


def beside_the_screen(draft_length: int, repeats: int) -> list[float]:
    """The engine's speed with the screen over its speed without, run by run."""
    screens, pipes = [], []
    for repeat in range(2 * repeats):
        # Each side begins as often as the other.
        if repeat % 4 in (0, 3):
            pipes.append(without_a_screen(draft_length))
        else:
            screens.append(in_a_terminal("engine", draft_length=draft_length)["tokens_per_second"])
    ratios = [screen / pipe for screen, pipe in zip(screens, pipes, strict=True)]
    alone, beside = statistics.median(pipes), statistics.median(screens)
    print(f"engine, {draft_length} drafted: {alone:.1f} tok/s alone ({min(pipes):.1f} to {max(pipes):.1f}),")
    print(f"{beside:.1f} beside the screen: {statistics.median(ratios):.3f} of it (wanted: 0.97),")
    print(f"from {min(ratios):.3f} to {max(ratios):.3f}")
    return ratios


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", read_end, write_end]:
            serve(
                Connection(int(read_end), writable=False),
                Connection(int(write_end), readable=False),
                SteadySession,
            )
        case ["inside", scenario, seconds, draft_length, result]:
            inside(scenario, float(seconds), int(draft_length), Path(result))
        case _:
            main()
