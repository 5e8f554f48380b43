"""Reads the hand-written topic files: questions, answers and follow-ups.

A line starts with a mark and a space; a line without a mark continues the previous one.
`=` noun phrases that name the topic, `!` tasks that name it ("reverse a string"), `?` a whole question,
`-` an answer, `+` an answer to "tell me more", `s` a one-sentence answer, `e` an example, `w` a reason.
`{a|b}` in an answer is a random choice.
"""

import random
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "topics"
_MARK = re.compile(r"^([=!?+sew-])(?: (.*))?$")
_CHOICE = re.compile(r"\{([^{}|]*(?:\|[^{}|]*)+)\}")


@dataclass
class Topic:
    names: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


@cache
def read_topics(name: str) -> tuple[Topic, ...]:
    """The topics of one file in `topics/`, in order."""
    topics: list[Topic] = []
    current: list[str] | None = None
    for raw in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if raw.startswith("#"):
            continue
        if not raw.strip():
            if current:
                current[-1] += "\n"
            continue
        mark = _MARK.match(raw)
        if mark is None:
            assert current, f"{name}.txt: a line without a mark starts the file: {raw!r}"
            current[-1] += "\n" + raw.removeprefix("  ")
            continue
        kind, text = mark.group(1), mark.group(2) or ""
        if kind in "=!":
            topics.append(Topic())
            items = [item.strip() for item in text.split("|") if item.strip()]
            (topics[-1].names if kind == "=" else topics[-1].tasks).extend(items)
            current = None
            continue
        topic = topics[-1]
        current = {
            "?": topic.questions,
            "-": topic.answers,
            "+": topic.more,
            "s": topic.short,
            "e": topic.examples,
            "w": topic.reasons,
        }[kind]
        current.append(text)
    for topic in topics:
        for texts in vars(topic).values():
            texts[:] = [text.strip() for text in texts]
        assert topic.answers, f"{name}.txt: a topic without an answer: {topic}"
    return tuple(topics)


def choose_words(text: str, rng: random.Random) -> str:
    """Replace every `{a|b}` in `text` by a random choice."""
    return _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), text)
