"""Generates the conversations that the built-in pair is trained on.

A conversation is an optional system message and some turns; each turn is drawn from one source (speculative
decoding, the program, small talk, facts, numbers, copying, code, out-of-domain questions). The seed decides
everything. A hash of a prompt's words selects the held-out set; it is computed before and after typing
errors, case and politeness are added, so that no variant of a held-out prompt is in training.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from train_builtin.mixtures import WEIGHTS
from train_builtin.topics import read_topics
from train_builtin.turns import Turn, draw_turns

HELD_OUT_PERCENT = 3

SYSTEM = [
    "You are a helpful assistant.",
    "You are a helpful assistant in a terminal.",
    "You are the built-in model of mlx-spec.",
    "You are a friendly assistant. Answer the user's questions.",
    "Answer clearly and politely.",
]
SYSTEM_SHORT = [
    "Be brief.",
    "Answer in one sentence.",
    "Keep your answers short.",
    "You are a helpful assistant. Be brief.",
]


@dataclass(frozen=True)
class Conversation:
    """A training conversation."""

    system: str | None
    turns: tuple[Turn, ...]

    def messages(self) -> list[dict[str, str]]:
        """In the format of chat templates."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns:
            messages.append({"role": "user", "content": turn.prompt})
            messages.append({"role": "assistant", "content": turn.answer})
        return messages


def normalise(question: str) -> str:
    """Lower case, letters and digits only, single spaces."""
    return " ".join("".join(char if char.isalnum() else " " for char in question.lower()).split())


@cache
def is_held_out(question: str) -> bool:
    """Whether this question is held out of training; never one of one or two words, or a topic's first."""
    plain = normalise(question)
    if len(plain.split()) < 3 or plain in _first_questions():
        return False
    return hashlib.sha256(plain.encode()).digest()[0] * 100 < HELD_OUT_PERCENT * 256


@cache
def _first_questions() -> frozenset[str]:
    topics = [
        topic for name in ("speculative", "program", "smalltalk", "computing") for topic in read_topics(name)
    ]
    return frozenset(normalise(topic.questions[0]) for topic in topics if topic.questions)


def conversation(rng: random.Random, weights: dict[str, int]) -> Conversation:
    """A conversation of one to six draws from the sources, most often one."""
    system, brief = None, False
    roll = rng.random()
    if roll < 0.05:
        system, brief = rng.choice(SYSTEM_SHORT), True
    elif roll < 0.15:
        system = rng.choice(SYSTEM)
    sources = rng.choices(list(weights), list(weights.values()), k=rng.choice([1, 1, 1, 1, 2, 2, 3, 4, 6]))
    turns = [turn for source in sources for turn in draw_turns(source, rng, brief)]
    return Conversation(system, tuple(turns))


def training_conversations(seed: int, weights: dict[str, int] = WEIGHTS) -> Iterator[Conversation]:
    """An endless stream of conversations without held-out prompts."""
    rng = random.Random(f"train {seed}")
    while True:
        drawn = conversation(rng, weights)
        asked = [text for turn in drawn.turns if turn.question for text in (turn.question, turn.prompt)]
        if not any(map(is_held_out, asked)):
            yield drawn


def held_out_conversations(seed: int) -> Iterator[Conversation]:
    """An endless stream of conversations of one held-out prompt each."""
    rng = random.Random(f"held out {seed}")
    while True:
        source = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        turns = draw_turns(source, rng, False)
        first = turns[0]
        if first.question and is_held_out(first.question) and is_held_out(first.prompt):
            yield Conversation(None, (first,))
