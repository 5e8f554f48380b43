"""Splitting a reasoning model's thought from its answer."""

from typing import NamedTuple

from app.engine.marks import ANALYSIS, CHANNEL, FINAL, THOUGHTS


class Thought(NamedTuple):
    thought: str
    answer_at: int
    """Where the answer begins, in characters."""
    finished: bool = True
    """False: the text ends inside the thought."""


def thought_of(text: str) -> Thought:
    """Split a text. Chats of earlier versions have only the closing tag if the template wrote the other."""
    begun = text.lstrip()
    if begun.startswith(CHANNEL):
        head, finished, answer = begun.partition(FINAL)
        thought = head.partition(ANALYSIS)[2].partition("<|end|>")[0]
        return Thought(thought.strip(), len(text) - len(answer.lstrip()), finished=bool(finished))
    if len(begun) > 2 and any(mark.startswith(begun) for mark, _ in THOUGHTS):
        return Thought("", len(text), finished=False)
    opened, close = next((pair for pair in THOUGHTS if begun.startswith(pair[0])), ("", THOUGHTS[0][1]))
    thought, closed, answer = begun.removeprefix(opened).partition(close)
    if closed:
        return Thought(thought.strip(), len(text) - len(answer.lstrip()))
    if opened:
        return Thought(thought.strip(), len(text), finished=False)
    return Thought("", 0)


def answer_of(text: str) -> str:
    """The text without its thought; the thought, if there is nothing else."""
    thought, answer_at, _ = thought_of(text)
    return text[answer_at:] or thought
