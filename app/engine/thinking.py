"""Splitting a reasoning model's thought from its answer."""

from typing import NamedTuple

from app.engine.marks import ANALYSIS, CHANNEL, FINAL, THOUGHTS


class Thought(NamedTuple):
    thought: str
    answer_at: int
    """Where the answer begins, in characters."""
    finished: bool = True
    """False: the text ends inside the thought."""
    thought_at: int = 0


def thought_of(text: str) -> Thought:
    """Split a text. Chats of earlier versions have only the closing tag if the template wrote the other."""
    begun = text.lstrip()
    if begun.startswith(CHANNEL):
        head, closed, answer = begun.partition(FINAL)
        before, mark, rest = head.partition(ANALYSIS)
        opened, thought = before + mark, rest.partition("<|end|>")[0]
    elif len(begun) > 2 and any(mark.startswith(begun) for mark, _ in THOUGHTS):
        return Thought("", len(text), finished=False)
    else:
        opened, close = next((pair for pair in THOUGHTS if begun.startswith(pair[0])), ("", THOUGHTS[0][1]))
        thought, closed, answer = begun.removeprefix(opened).partition(close)
        if not (opened or closed):
            return Thought("", 0)
    thought = thought.strip()
    thought_at = text.index(thought, len(text) - len(begun) + len(opened))
    return Thought(thought, len(text) - len(answer.lstrip()), bool(closed), thought_at)


def answer_of(text: str) -> str:
    """The text without its thought; the thought, if there is nothing else."""
    thought, answer_at, *_ = thought_of(text)
    return text[answer_at:] or thought
