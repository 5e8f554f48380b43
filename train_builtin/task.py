"""What a task is: (prompt, answer). Its content is drawn anew each time, so that a model has to look at the
prompt instead of remembering it.
"""

import random

Task = tuple[str, str]


def pick(rng: random.Random, frames: str) -> str:
    """One of the frames, which `|` parts."""
    return rng.choice(frames.split("|"))


def join(items: list[str]) -> str:
    """`a, b and c`."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" and {items[-1]}"
