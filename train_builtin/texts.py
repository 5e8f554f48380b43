# ruff: noqa: E501 (frames of questions are one line each)
"""Tasks on longer texts: repeating, quoting, replacing and correcting words, code and lists.

Every task returns (prompt, answer). Most of the answer is in the prompt, so the model has to learn to copy
over dozens of tokens, whatever the text is about.
"""

import random
import re
from collections.abc import Callable
from functools import cache

from train_builtin.facts import fact
from train_builtin.task import Task
from train_builtin.topics import choose_words, read_topics
from train_builtin.words import ADJECTIVES, NAMES, NOUNS, PAST, sentence

TOPICS = ("speculative", "program", "computing", "smalltalk", "code")


@cache
def _answers() -> tuple[str, ...]:
    return tuple(text for name in TOPICS for topic in read_topics(name) for text in topic.answers)


@cache
def _code() -> tuple[str, ...]:
    """The Python blocks in the answers, without their fences."""
    found = [re.search(r"```python\n(.*?)\n```", text, re.S) for text in _answers()]
    return tuple(match.group(1) for match in found if match)


@cache
def _named_code() -> tuple[tuple[str, list[str]], ...]:
    """The Python blocks that define names, with these names."""
    given = re.compile(r"\b([a-z_]+) = |\b(?:def|for) ([a-z_]+)")
    found = [(code, sorted({a or b for a, b in given.findall(code)} - {"_"})) for code in _code()]
    return tuple((code, names) for code, names in found if names)


def _sentences(rng: random.Random, low: int, high: int) -> str:
    return " ".join(sentence(rng) for _ in range(rng.randint(low, high)))


def _prose(rng: random.Random) -> str:
    """Shuffled sentences on all subjects: no sentence predicts the next."""
    known = [
        part
        for text in rng.sample(_answers(), 3)
        if "`" not in text
        for part in choose_words(text, rng).split(". ")
    ]
    drawn = [part.strip(". ").replace("\n", " ") + "." for part in known]
    drawn += [fact(rng)[1] for _ in range(2)] + [sentence(rng) for _ in range(3)]
    return " ".join(rng.sample(drawn, min(len(drawn), rng.randint(3, 7))))


def _row(rng: random.Random) -> str:
    """Words, numbers or syllables in random order."""
    kind = rng.randrange(4)
    if kind == 0:
        items = [str(rng.randint(0, 999)) for _ in range(rng.randint(6, 24))]
    elif kind == 1:
        items = [
            "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(1, 4)))
            for _ in range(rng.randint(5, 20))
        ]
    else:
        items = rng.choices([*NOUNS, *NAMES, *ADJECTIVES, *PAST], k=rng.randint(8, 40))
    return rng.choice([" ", ", ", ", ", "\n"]).join(items)


def _text(rng: random.Random) -> str:
    """A random text of 10 to about 200 tokens."""
    roll = rng.random()
    if roll < 0.3:
        return _sentences(rng, 2, 8)
    if roll < 0.55:
        return _prose(rng)
    if roll < 0.7:
        return choose_words(rng.choice(_answers()), rng)
    if roll < 0.85:
        return _row(rng)
    return f"```python\n{rng.choice(_code())}\n```"


def _ask(rng: random.Random, frames: str, text: str, **names: str) -> str:
    """A prompt: one of the frames, capitalized or not, then the text on the same line or below."""
    frame = rng.choice(frames.split("|")).format(**names)
    if rng.random() < 0.6:
        frame = frame[0].upper() + frame[1:]
    below = "\n" in text or rng.random() < 0.4
    return f"{frame}:" + (rng.choice(["\n", "\n\n"]) if below else " ") + text


def repeat_text(rng: random.Random) -> Task:
    text = _text(rng)
    frames = (
        "repeat this text|repeat the following text|repeat the text below|repeat this|repeat|copy this text|copy the following text"
        "|copy this|write this text again|write this again|say this again|repeat this word for word|copy this text exactly"
        "|repeat the following word for word|echo this|return this text unchanged|please repeat this text|please copy this"
        "|write the same text once more|type this again"
    )
    if text.startswith("```"):
        frames = "repeat this code|copy this code|write this code again|show this code again|return this function unchanged|repeat the following code"
    elif rng.random() < 0.1:
        text_in_quotes = f'"{text}"'
        return _ask(rng, frames, text_in_quotes), rng.choice([text_in_quotes, text])
    return _ask(rng, frames, text), text


def replace_name(rng: random.Random) -> Task:
    """Replace a name or a noun in several sentences."""
    old, new = rng.sample(NAMES, 2) if rng.random() < 0.7 else rng.sample(NOUNS, 2)
    shapes = [sentence(rng) for _ in range(rng.randint(2, 6))]
    pool = NAMES if old in NAMES else NOUNS
    # Put the word to be replaced into most of the sentences, in place of a word of the same kind.
    texts = [
        re.sub(r"\b(" + "|".join(pool) + r")\b", old, text, count=1) if rng.random() < 0.7 else text
        for text in shapes
    ]
    text = " ".join(texts)
    if not re.search(rf"\b{old}\b", text):
        text = f"{text} The {old} waited." if old in NOUNS else f"{text} {old} waited."
    frames = (
        "replace {a} with {b}|replace {a} by {b} in this text|change {a} to {b}|write {b} instead of {a}|put {b} where it says {a}"
        "|replace every {a} with {b}|use {b} instead of {a} in the following text"
    )
    return _ask(rng, frames, text, a=old, b=new), re.sub(rf"\b{old}\b", new, text)


def rename_in_code(rng: random.Random) -> Task:
    """Rename a variable or function."""
    code, names = rng.choice(_named_code())
    old = rng.choice(names)
    new = rng.choice([*NOUNS, "x", "y", "data", "value", "total", "item", "result"])
    frames = (
        "rename `{a}` to `{b}`|rename {a} to {b} in this code|change the name {a} to {b}|call {a} {b} instead"
        "|replace `{a}` with `{b}` in this code|in this code, rename `{a}` to `{b}`"
    )
    answer = re.sub(rf"\b{old}\b", new, code)
    return _ask(rng, frames, f"```python\n{code}\n```", a=old, b=new), f"```python\n{answer}\n```"


def mend_text(rng: random.Random) -> Task:
    """Correct swapped letters in some words."""
    text = _sentences(rng, 2, 5)
    words = text.split(" ")
    spots = [
        (i, j)
        for i, word in enumerate(words)
        if word.strip(".").islower()
        for j in range(1, len(word.strip(".")) - 2)
        if word[j] != word[j + 1]
    ]
    for i, j in {i: (i, j) for i, j in rng.sample(spots, min(len(spots), rng.randint(1, 4)))}.values():
        word = words[i]
        words[i] = word[:j] + word[j + 1] + word[j] + word[j + 2 :]
    frames = (
        "correct the spelling|fix the spelling|fix the typos|correct this text|correct the mistakes|mend the spelling"
        "|fix the typos in this text|correct the spelling of this text"
    )
    return _ask(rng, frames, " ".join(words)), text


def quote(rng: random.Random) -> Task:
    """Quote one sentence of several."""
    texts = [sentence(rng) for _ in range(rng.randint(2, 6))]
    which, i = rng.choice([("first", 0), ("first", 0), ("second", 1), ("last", len(texts) - 1)])
    frames = "quote the {w} sentence|what is the {w} sentence of this text|repeat only the {w} sentence|write the {w} sentence of this text"
    return _ask(rng, frames, " ".join(texts), w=which), texts[i]


def quote_name(rng: random.Random) -> Task:
    """Quote the sentence about a person."""
    people = rng.sample(NAMES, rng.randint(2, 6))
    texts = [
        f"{person} {rng.choice(PAST)} the {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}." for person in people
    ]
    i = rng.randrange(len(people))
    frames = "quote the sentence about {n}|which sentence is about {n}|repeat the sentence with {n}|what does this text say about {n}"
    return _ask(rng, frames, " ".join(texts), n=people[i]), texts[i]


def lines(rng: random.Random) -> Task:
    """Write words or sentences as a list."""
    items = (
        rng.sample(NOUNS, rng.randint(5, 14))
        if rng.random() < 0.7
        else [sentence(rng) for _ in range(rng.randint(2, 6))]
    )
    given = (" " if items[0].endswith(".") else ", ").join(items)
    if rng.random() < 0.5:
        frames = "make a bullet list|write this as a bullet list|make a list|put this in a list|turn this into a bullet list|write one item per line with a dash"
        return _ask(rng, frames, given), "\n".join(f"- {item}" for item in items)
    frames = "make a numbered list|number these|put these in a numbered list|write this as a numbered list|number each item"
    return _ask(rng, frames, given), "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1))


def unlist(rng: random.Random) -> Task:
    """Write a list as one line."""
    items = rng.sample(NOUNS, rng.randint(4, 12))
    frames = "write this list in one line|put this list on one line|join these lines with commas|write these lines as one line"
    return _ask(rng, frames, "\n".join(f"- {item}" for item in items)), ", ".join(items)


TEXTS: list[Callable[[random.Random], Task]] = [
    repeat_text, repeat_text, repeat_text, repeat_text, replace_name, replace_name, rename_in_code, mend_text, quote,
    quote_name, lines, lines, unlist,
]  # fmt: skip
