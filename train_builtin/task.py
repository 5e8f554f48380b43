"""The type of a task: (prompt, answer). Contents are random, so that a model has to read the prompt instead
of memorizing answers.
"""

import random

Task = tuple[str, str]


def pick(rng: random.Random, frames: str) -> str:
    """One of the frames, which are separated by `|`."""
    return rng.choice(frames.split("|"))


def join(items: list[str]) -> str:
    """`a, b and c`."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" and {items[-1]}"
