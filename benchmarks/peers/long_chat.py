"""Whether a long chat gets slower than its growing context explains.

The same turns are decoded in two processes: a chat whose engine keeps its state from turn to turn, and a
fresh engine that is reset before each turn and reads the conversation again, untimed. Both then decode the
turn at the same context, so their ratio shows the cost of the chat's age. Both start a repeat with the same
learned costs and acceptance, because two calibrations differ by chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from app.engine.chat_prompt import Message
from benchmarks.peers.answering import Answer, Ask, decoding_pace
from benchmarks.peers.measure import Process
from benchmarks.peers.ratios import NEVER_SLOWER

QUESTIONS = (
    "What is speculative decoding?",
    "Who are you?",
    "What is a draft?",
    "Count from 1 to 12.",
    "When does drafting not pay?",
    "What is the acceptance rate?",
    "Tell me a joke please.",
    "How do I reverse a string in Python?",
    "Does drafting change the answer I get?",
    "What is the bonus token?",
)
MAX_TOKENS = 64
RE_READ_TOKENS = 6


@dataclass(frozen=True, slots=True)
class LongChat:
    """Results of a long chat. Lists are by turn, medians over the repeats."""

    context_tokens: list[int]
    """Prompt length."""
    chat_tokens_per_second: list[float]
    """Decoding only, without prefill."""
    fresh_tokens_per_second: list[float]
    ratio: float
    """Chat / fresh over the second half of the turns; median over the repeats."""
    spread: tuple[float, float]
    wanted: float = NEVER_SLOWER


def long_chat(
    chat: Process, fresh: Process, turns: int, repeats: int, show: Callable[[str], None] = lambda text: None
) -> LongChat:
    """Run the same chat `repeats` times in both processes, greedy, with `auto`."""
    runs = []
    for repeat in range(repeats):
        show(f"chat of {turns} turns, repeat {repeat + 1} of {repeats}")
        fresh.call("learn", chat.call("learned"))
        runs.append(_one_chat(chat, fresh, turns, swapped=repeat % 2 == 1))
    half = turns // 2
    ratios = [
        decoding_pace([a for _, a, _ in run[half:]]) / decoding_pace([b for _, _, b in run[half:]])
        for run in runs
    ]
    by_turn = list(zip(*runs, strict=True))
    return LongChat(
        context_tokens=[turn[0][0] for turn in by_turn],
        chat_tokens_per_second=[median(decoding_pace([a]) for _, a, _ in turn) for turn in by_turn],
        fresh_tokens_per_second=[median(decoding_pace([b]) for _, _, b in turn) for turn in by_turn],
        ratio=median(ratios),
        spread=(min(ratios), max(ratios)),
    )


Turn = tuple[int, Answer, Answer]
"""Tokens of the prompt, the chat's answer and the fresh engine's."""


def _one_chat(chat: Process, fresh: Process, turns: int, *, swapped: bool) -> list[Turn]:
    messages: list[Message] = []
    found: list[Turn] = []
    before: tuple[int, ...] = ()
    for turn in range(turns):
        messages.append(Message(role="user", content=QUESTIONS[turn % len(QUESTIONS)]))
        ids, stop = chat.call("encode", messages)
        if before:
            # With drafts, so that the draft model reads the conversation too.
            fresh.call("answer", Ask(before, (), RE_READ_TOKENS, 0.0, 0, "model", 1))
        ask = Ask(ids, stop, MAX_TOKENS, 0.0, 0, "auto", None, keep=bool(before))
        if swapped:
            other = fresh.call("answer", ask)
            own = chat.call("answer", ask)
        else:
            own = chat.call("answer", ask)
            other = fresh.call("answer", ask)
        before = (*ids, *own.tokens)
        found.append((len(ids), own, other))
        messages.append(Message(role="assistant", content=chat.call("decode", own.tokens)))
    return found
