"""Splitting a reasoning model's thought from its answer."""

from typing import NamedTuple

OPEN, CLOSE = "<think>", "</think>"


class Thought(NamedTuple):
    thought: str
    answer_at: int
    """Where the answer begins, in characters."""
    finished: bool = True
    """False: the text ends inside the thought."""


def thought_of(text: str) -> Thought:
    """Split a text. It has only the closing tag if the chat template writes the opening one."""
    begun = text.lstrip()
    thought, closed, answer = begun.removeprefix(OPEN).partition(CLOSE)
    if closed:
        return Thought(thought.strip(), len(text) - len(answer.lstrip()))
    if begun.startswith(OPEN):
        return Thought(thought.strip(), len(text), finished=False)
    return Thought("", 0)
