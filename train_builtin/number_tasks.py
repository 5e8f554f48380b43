# ruff: noqa: E501 (frames of questions are one line each)
"""Tasks with random numbers: counting, arithmetic, comparing."""

import random
from collections.abc import Callable

from train_builtin.task import Task, pick
from train_builtin.words import NAMES


def count_up(rng: random.Random) -> Task:
    start = 1 if rng.random() < 0.5 else rng.randint(1, 60)
    stop = start + rng.randint(4, 19)
    if start == 1:
        frames = "count to {b}|count from 1 to {b}|please count to {b}|can you count to {b}|count up to {b}|write the numbers from 1 to {b}|list the numbers 1 to {b}"
    else:
        frames = "count from {a} to {b}|write the numbers from {a} to {b}|list the numbers from {a} to {b}|please count from {a} to {b}|numbers {a} to {b}"
    return pick(rng, frames).format(a=start, b=stop), ", ".join(map(str, range(start, stop + 1))) + "."


def count_down(rng: random.Random) -> Task:
    stop = 1 if rng.random() < 0.6 else rng.randint(1, 40)
    start = stop + rng.randint(4, 15)
    frames = "count down from {a} to {b}|count backwards from {a} to {b}|count from {a} down to {b}|a countdown from {a} to {b}"
    if stop == 1:
        frames = "count down from {a}|count backwards from {a}|a countdown from {a} please|" + frames
    return pick(rng, frames).format(a=start, b=stop), ", ".join(map(str, range(start, stop - 1, -1))) + "."


def count_by(rng: random.Random) -> Task:
    step, word = rng.choice([(2, "twos"), (5, "fives"), (10, "tens"), (3, "threes")])
    stop = step * rng.randint(4, 12)
    frames = "count by {w} to {b}|count to {b} by {w}|count in {w} up to {b}|list the multiples of {s} up to {b}|count to {b} in steps of {s}"
    return pick(rng, frames).format(w=word, s=step, b=stop), ", ".join(
        map(str, range(step, stop + 1, step))
    ) + "."


def parity(rng: random.Random) -> Task:
    kind = rng.choice(["even", "odd"])
    stop = rng.randint(6, 30)
    first = 2 if kind == "even" else 1
    frames = "list the {k} numbers up to {b}|what are the {k} numbers up to {b}|write the {k} numbers from 1 to {b}|count the {k} numbers to {b}"
    return pick(rng, frames).format(k=kind, b=stop), ", ".join(map(str, range(first, stop + 1, 2))) + "."


def is_parity(rng: random.Random) -> Task:
    n = rng.randint(1, 99)
    kind = "even" if n % 2 == 0 else "odd"
    asked = rng.choice(["even", "odd"])
    return f"is {n} {asked}", f"{'Yes' if asked == kind else 'No'}, {n} is {kind}."


def next_number(rng: random.Random) -> Task:
    n = rng.randint(1, 98)
    if rng.random() < 0.5:
        return pick(rng, "what comes after {}|which number comes after {}|the number after {}").format(
            n
        ), f"{n + 1} comes after {n}."
    return pick(rng, "what comes before {}|which number comes before {}|the number before {}").format(
        n
    ), f"{n - 1} comes before {n}."


def add(rng: random.Random) -> Task:
    a, b = rng.randint(1, 20), rng.randint(1, 20)
    frames = "what is {} plus {}|{} + {}|add {} and {}|how much is {} + {}|what is {} + {}|compute {} + {}|what is the sum of {} and {}"
    return pick(rng, frames).format(a, b), f"{a} + {b} = {a + b}."


def subtract(rng: random.Random) -> Task:
    b, c = rng.randint(1, 12), rng.randint(0, 12)
    frames = "what is {} minus {}|{} - {}|how much is {} - {}|what is {} - {}|compute {} - {}"
    return pick(rng, frames).format(b + c, b), f"{b + c} - {b} = {c}."


def multiply(rng: random.Random) -> Task:
    a, b = rng.randint(1, 10), rng.randint(1, 10)
    frames = "what is {} times {}|{} * {}|how much is {} times {}|multiply {} by {}|what is {} x {}|compute {} times {}"
    return pick(rng, frames).format(a, b), f"{a} times {b} is {a * b}."


def larger(rng: random.Random) -> Task:
    a, b = rng.sample(range(1, 100), 2)
    if rng.random() < 0.5:
        return pick(
            rng, "which is larger {} or {}|what is bigger {} or {}|which number is larger, {} or {}"
        ).format(a, b), f"{max(a, b)} is larger than {min(a, b)}."
    return pick(rng, "which is smaller {} or {}|what is smaller, {} or {}").format(
        a, b
    ), f"{min(a, b)} is smaller than {max(a, b)}."


def apples(rng: random.Random) -> Task:
    name, thing = (
        rng.choice(NAMES),
        rng.choice(["apples", "books", "coins", "balls", "pens", "cups", "stones", "cards"]),
    )
    a, b = rng.randint(2, 10), rng.randint(1, 9)
    if rng.random() < 0.5:
        prompt = f"{name} has {a} {thing} and gets {b} more. how many {thing} does {name} have now"
        return (
            prompt,
            f"{name} starts with {a} {thing}. Then {b} more come: {a} + {b} = {a + b}. So {name} has {a + b} {thing}.",
        )
    b = min(b, a - 1)
    prompt = f"{name} has {a} {thing} and gives away {b}. how many {thing} are left"
    return (
        prompt,
        f"{name} starts with {a} {thing}. Then {b} go away: {a} - {b} = {a - b}. So {a - b} {thing} are left.",
    )


NUMBERS: list[Callable[[random.Random], Task]] = [
    count_up, count_up, count_down, count_by, parity, is_parity, next_number, add, add, subtract, multiply, larger, apples,
]  # fmt: skip
