"""An engine process without MLX, for tests: the real `serve` loop around a scripted session.

The prompt says what happens: `slow` answers for ever, `hold` stays in the middle of its answer, `deaf` never
begins one and looks at no cancel, `read` is read until it is stopped, `long to read` stays before its first
piece, `unreadable` raises before that, `fail` in a pass, `refuse` for what was asked, `lost` another Mac,
`crash` ends the process, `crash at 5` does so in the process's fifth answer, `fail at 5` raises there, `wait
at 5` waits there until it is stopped, `controls` answers with characters a terminal would obey, `think` with
a thought first, `think and call` calls after it, `markdown` with all kinds of it, `echo` tells what the
engine was asked, `differ` answers longer with drafting, `full` ends where the context does, `call` calls the
first tool twice, anything else gets the same short answer.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import cast

from app.engine.chat_prompt import Message
from app.engine.difference import Difference
from app.engine.events import (
    DraftRound,
    PairInfo,
    Piece,
    PrefillProgressed,
    PromptCounted,
    TextAdded,
    ToolCall,
    TurnEnded,
    TurnEvent,
    TurnsDropped,
)
from app.engine.process import serve
from app.engine.protocol import Answer
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from mlx_spec.errors import RankLost
from mlx_spec.stats import summarise
from mlx_spec.types import Round
from models.pairs.pair import PairSpec
from models.paths import data_folder

ROUNDS = (("The target", " checks"), (" what the draft", " guessed"), (": 日本 👩‍💻", "."))
THOUGHT = (("<think>one two", " three</think>"), ("So", " it is:\n```python\nx = 1\n```"))
HELD = (
    ("The draft model", " guesses"), (" a few", " tokens"), (" ahead,", " and"), (" the target", " checks"),
    (" all of them", " in"), (" one pass.", " What"), (" it would have", " said"), (" itself", " stands;"),
    (" the first", " wrong"), (" guess", " is"), (" replaced by", " its own"), (" token", " and"),
)  # fmt: skip
MARKDOWN = (
    ("# Head\n\nText **strong**,", " *slanted*, ~~gone~~, `code`, [a link](https://example.org).\n\n"),
    ("- one\n- two\n\n1. first\n\n> said\n\n| a |", " b |\n|---|--:|\n| 1 | 2 |\n\n---\n\n"),
    ("```python\n@cached\ndef f(x: int) -> str:\n    # why\n", "    return None or 'x' * 2\n```\n"),
    ("```diff\n-old\n+new\n```\n```html\n", '<a href="x">y</a>\n```\n'),
)
CONTROLS = (("[bold]not bold[/bold] ", "\x1b[31mred\x1b[0m \x07"), ("[/oops] \x9b2J", "\u202e end"))
SCRIPTS = {"controls": CONTROLS, "hold": HELD, "markdown": MARKDOWN}
SCRIPTS |= {"think": THOUGHT, "think and call": THOUGHT}


class ScriptedSession:
    """Answers in rounds of one accepted and one bonus token; without drafting, plain ones."""

    def __init__(self, spec: PairSpec, show: Callable[[str], object]) -> None:
        if spec.name == "absent":
            raise BadInput("The pair absent is not on this machine. Get it with: mlx-spec pull absent")
        for place in spec.documents:
            show(f"Indexing {place}, once: 50 of 70 files")
        if spec.name == "slow to load":
            while not (data_folder() / "load").exists():
                time.sleep(0.01)
        self.answers = 0
        self.is_tuned = spec.name != "untuned"
        self.info = PairInfo(spec.name, 4096, "test (cpu)", 1_000_000, drafters=("lookup", "model"))

    def tune(
        self, progress: Callable[[int, int], None], skipped: Callable[[], bool], left: Callable[[], bool]
    ) -> None:
        """Takes 20 seconds unless skipped."""
        for done in range(1, 401):
            progress(done, 400)
            if skipped() or left():
                return
            time.sleep(0.05)

    def save(self) -> None:
        """There is nothing to save."""

    def answer(self, request: Answer, cancelled: Callable[[], bool]) -> Iterator[TurnEvent]:
        prompt, options = cast("Sequence[Message]", request.prompt), request.options
        said = prompt[-1]["content"]
        if said == "unreadable":
            raise ValueError("the secret words cannot be read")
        yield PromptCounted(10)
        while said == "long to read" and not cancelled():
            time.sleep(0.01)
        yield PrefillProgressed(6, 6)  # the others are cached
        self.answers += 1
        if said == f"crash at {self.answers}":
            self.crash()
        if said == f"fail at {self.answers}":
            raise MemoryError
        if said == "long":
            yield TurnsDropped(2)
        if said == "lost":
            raise RankLost("Another Mac is gone.")
        if said == "refuse":
            raise BadInput("The secret words are refused.")
        if said == "fail":
            raise ValueError("the secret words fail")
        while said == "deaf" or (said in ("read", f"wait at {self.answers}") and not cancelled()):
            time.sleep(0.01)
        if said == "read":
            yield TurnEnded("", (), "cancelled", options.seed, summarise(()))
            return
        drafting = options.drafter != "none"
        script = SCRIPTS.get(said, ROUNDS)
        if "echo" in said:
            asked = "|".join(message["content"] for message in prompt)
            asked += "".join(json.dumps(m["tool_calls"]) for m in prompt if "tool_calls" in m)
            asked += "".join(f"<{m['reasoning_content']}>" for m in prompt if "reasoning_content" in m)
            documents = f"|{len(request.documents)} documents"
            end = f"|seed {options.seed}" + "|fresh" * (request.fresh and "afresh" in said)
            script = (asked, f"|{request.begun}"), (documents, end)
        if said == "differ" and drafting:
            script = (*script, ("", " And more."))
        rounds: list[Round] = []
        text, finish = "", "length" if said == "full" else "stop"
        for number, (first, second) in enumerate(script * (100_000 if said == "slow" else 1)):
            if cancelled() or number * 2 >= options.max_tokens:
                finish = "cancelled" if cancelled() else "length"
                break
            if said == "crash" and number == 2:
                self.crash()
            seconds = (0.01 if drafting else 0.02) * (6 if said == "hold" else 1)
            time.sleep(0.02 if said in ("slow", "crash") else 0.001)
            begin = len(text)
            rounds.append(Round((1,) if drafting else (), int(drafting), (1, 2), "model", seconds))
            text += first + second
            marks = ("accepted", "bonus") if drafting else ("plain", "plain")
            stats = summarise(rounds, prompt_tokens=10)
            pieces = Piece(first, marks[0]), Piece(second, marks[1])
            if request.parts and "think" in said:
                shown = (first.removeprefix("<think>"), second.removesuffix("</think>"))
                pieces = tuple(Piece(*each, number == 0) for each in zip(shown, marks, strict=True))
            drafter, drafted = ("model", (first,)) if drafting else ("none", ())
            draft_seconds = seconds / 4 if drafting and number == 1 else None
            played = DraftRound(
                drafter, drafted, len(drafted), second, seconds, draft_seconds, begin, len(text)
            )
            speeds = stats.tokens, stats.decode_seconds, stats.tokens_per_second
            yield TextAdded(pieces, *speeds, 2_000_000, (played,))
        while said == "hold" and not cancelled():
            time.sleep(0.01)
        stats = summarise(rounds, prompt_tokens=10)
        name = request.tools[0]["function"]["name"] if said.endswith("call") else None
        calls = (ToolCall(name, '{"x": 1}'),) * 2 if name else ()
        yield TurnEnded(text, (1, 2) * len(rounds), finish, options.seed, stats, calls)

    def crash(self) -> None:
        time.sleep(0.1)  # a thread sends what was said before
        os.kill(os.getpid(), signal.SIGKILL)

    def difference(
        self, prompt: Sequence[Message], options: AnswerOptions, plain: Sequence[int], drafted: Sequence[int]
    ) -> Difference | None:
        return Difference(len(plain), "", "end", 0.001, 0.01)


if __name__ == "__main__":
    serve(
        Connection(int(sys.argv[1]), writable=False),
        Connection(int(sys.argv[2]), readable=False),
        ScriptedSession,  # type: ignore[arg-type]
    )
