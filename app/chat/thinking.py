"""What a reasoning model wrote before its answer, parted from the answer."""

from dataclasses import dataclass

OPEN, CLOSE = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Thought:
    """The two parts of a text."""

    thought: str
    """Empty if there is none."""
    answer_at: int
    """Where the answer begins, in characters."""
    finished: bool = True
    """False: the text ends inside the thought."""


def thought_of(text: str) -> Thought:
    """Part a text. Some templates write the opening tag themselves; then only the closing one is there."""
    begin = len(OPEN) if text.lstrip().startswith(OPEN) else None
    end = text.find(CLOSE)
    if end < 0:
        if begin is None:
            return Thought("", 0)
        return Thought(text.lstrip()[begin:].strip(), len(text), finished=False)
    answer_at = end + len(CLOSE)
    answer_at += len(text[answer_at:]) - len(text[answer_at:].lstrip())
    return Thought(text[:end].lstrip().removeprefix(OPEN).strip(), answer_at)
