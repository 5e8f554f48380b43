# ruff: noqa: E501 (frames of questions are one line each)
"""Tasks whose answer is a few lines of Python with values from the prompt."""

import random
from collections.abc import Callable

from train_builtin.task import Task, join, pick
from train_builtin.words import sentence, words


def loop_code(rng: random.Random) -> Task:
    a, b = rng.choice([0, 1, 1, rng.randint(2, 20)]), rng.randint(21, 100)
    prompt = pick(
        rng,
        "write a python loop from {a} to {b}|print the numbers from {a} to {b} in python|how do i print {a} to {b} in python|python loop from {a} to {b}",
    ).format(a=a, b=b)
    return (
        prompt,
        f"Use `range`, which stops before its end:\n```python\nfor i in range({a}, {b + 1}):\n    print(i)\n```\nThis prints the numbers from {a} to {b}.",
    )


def list_code(rng: random.Random) -> Task:
    items = words(rng, 2, 4)
    prompt = pick(
        rng, "write a python list with {}|make a python list of {}|a list in python with {}"
    ).format(join(items))
    return prompt, "```python\nitems = [" + ", ".join(f'"{item}"' for item in items) + "]\n```"


def print_code(rng: random.Random) -> Task:
    text = " ".join(words(rng, 1, 3)) if rng.random() < 0.5 else sentence(rng)
    prompt = pick(rng, "write python code that prints: {}|print this in python: {}|python print: {}").format(
        text
    )
    return prompt, f'```python\nprint("{text}")\n```'


CODE: list[Callable[[random.Random], Task]] = [loop_code, list_code, print_code]
