"""Generates the conversations that the built-in pair learns from.

A conversation is an optional system message and some turns; each turn is drawn from one source (speculative
decoding, the program, small talk, facts, numbers, copying, code, questions from outside). Everything follows
from a seed. A hash of a prompt's words keeps some prompts apart as the held-out set; it is taken before and
after typing errors, case and politeness are added, so that a held-out prompt has no twin in training,
disguised or not.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from models.train import wording
from models.train.facts import fact
from models.train.mixtures import WEIGHTS
from models.train.tasks import CODE, COPYING, NUMBERS, drill
from models.train.texts import TEXTS
from models.train.topics import FOLDER, Topic, choose_words, read_topics
from models.train.words import ADJECTIVES, NAMES, NOUNS

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


MEMORIES = [
    (
        "my name is {n}",
        "Nice to meet you, {n}!",
        "what is my name|who am i|do you remember my name|what's my name",
        "Your name is {n}.",
    ),
    (
        "i am {n}",
        "Hello, {n}! What can I do for you?",
        "what is my name|who am i|do you know my name",
        "Your name is {n}.",
    ),
    (
        "my favourite colour is {c}",
        "{c} is a nice colour.",
        "what is my favourite colour|which colour do i like",
        "Your favourite colour is {c}.",
    ),
    (
        "i have a {t}",
        "A {t}, how nice!",
        "what do i have|what did i tell you that i have",
        "You have a {t}.",
    ),
    (
        "remember the word {t}",
        "I will remember the word {t}.",
        "what was the word|which word should you remember|what is the word",
        "The word was {t}.",
    ),
    (
        "my friend is called {n}",
        "Say hello to {n} from me!",
        "what is my friend called|what is the name of my friend",
        "Your friend is called {n}.",
    ),
]
"""What the user says, the reply, ways to ask for it later, and the answer to those."""


@dataclass(frozen=True)
class Turn:
    prompt: str
    """As the user types it."""
    answer: str
    question: str | None
    """The prompt before its surface was varied; None where it only makes sense after the turn before."""
    source: str


@dataclass(frozen=True)
class Conversation:
    system: str | None
    turns: tuple[Turn, ...]

    def messages(self) -> list[dict[str, str]]:
        """As chat templates take them."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        for turn in self.turns:
            messages.append({"role": "user", "content": turn.prompt})
            messages.append({"role": "assistant", "content": turn.answer})
        return messages


def normalise(question: str) -> str:
    """Lower case, letters and digits only, single blanks."""
    return " ".join("".join(char if char.isalnum() else " " for char in question.lower()).split())


@cache
def is_held_out(question: str) -> bool:
    """Whether this question is kept apart from training; greetings of one or two words never are."""
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


@cache
def _topics(source: str) -> list[Topic]:
    return read_topics(source)


@cache
def _asked() -> list[tuple[Topic, list[str]]]:
    """Topics with further ways to ask for them."""
    topics = [topic for source in ("speculative", "program", "smalltalk") for topic in _topics(source)]
    by_question = {question: topic for topic in topics for question in topic.questions}
    found: list[tuple[Topic, list[str]]] = []
    for line in (FOLDER / "asked.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "=":
            found.append((by_question[text], []))
        elif mark == "?":
            found[-1][1].append(text)
    return found


@cache
def _outside() -> tuple[list[tuple[list[str], list[str]]], list[str], list[str], list[str]]:
    """(frames, subjects) groups, single questions, answers that name the subject, plain answers."""
    groups: list[tuple[list[str], list[str]]] = []
    single: list[str] = []
    frames: list[str] = []
    for line in (FOLDER / "outside.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "?":
            frames = [frame.strip() for frame in text.split("|")]
        elif mark == "-":
            groups.append((frames, [subject.strip() for subject in text.split(",")]))
        elif mark == "!":
            single.extend(question.strip() for question in text.split("|"))
    naming, plain = (FOLDER / "outside_answers.txt").read_text(encoding="utf-8").split("= plain\n")
    return groups, single, naming.splitlines(), plain.splitlines()


def topic_turns(source: str, rng: random.Random, brief: bool) -> list[Turn]:
    """A question about one topic, sometimes with follow-ups such as "tell me more" or "why?"."""
    topic = rng.choice(_topics(source))
    used: list[str] = []

    def take(answers: list[str]) -> str:
        text = rng.choice([answer for answer in answers if answer not in used] or answers)
        used.append(text)
        return choose_words(text, rng)

    answers = topic.answers
    if topic.tasks:
        task = rng.choice(topic.tasks)
        frame = rng.choice(wording.options(wording.DO_IN_PYTHON))
        question = frame.format(task, wording.third_person(task))
    elif topic.names and (rng.random() < 0.5 or not topic.questions):
        name = rng.choice(topic.names)
        roll = rng.random()
        if roll < 0.12 and topic.short:
            question, answers = rng.choice(wording.options(wording.DEFINE_SHORT)).format(name), topic.short
        elif roll < 0.2 and topic.examples:
            question, answers = (
                rng.choice(wording.options(wording.DEFINE_EXAMPLE)).format(name),
                topic.examples,
            )
        else:
            question = rng.choice(wording.options(wording.DEFINE)).format(name)
    else:
        question = rng.choice(topic.questions)
    if brief and topic.short:
        answers = topic.short
    turns = [
        Turn(wording.surface(question, rng, polite=source != "smalltalk"), take(answers), question, source)
    ]
    while rng.random() < 0.3 and source in ("speculative", "program", "computing"):
        kinds = {
            wording.MORE: [*topic.more, *([] if topic.more else topic.answers)],
            wording.AGAIN: topic.answers,
        }
        kinds |= {wording.EXAMPLE: topic.examples, wording.WHY: topic.reasons, wording.SHORTER: topic.short}
        open_kinds = {asks: texts for asks, texts in kinds.items() if any(text not in used for text in texts)}
        if not open_kinds:
            break
        asks = rng.choice(sorted(open_kinds))
        turns.append(
            Turn(
                wording.surface(rng.choice(wording.options(asks)), rng), take(open_kinds[asks]), None, source
            )
        )
    return turns


def asked_turns(rng: random.Random) -> list[Turn]:
    """One of the things that people ask first or most often."""
    topic, questions = rng.choice(_asked())
    question = rng.choice(questions)
    return [
        Turn(wording.surface(question, rng), choose_words(rng.choice(topic.answers), rng), question, "asked")
    ]


def fact_turns(rng: random.Random) -> list[Turn]:
    question, answer = fact(rng)
    return [Turn(wording.surface(question, rng), answer, question, "facts")]


def task_turns(source: str, rng: random.Random) -> list[Turn]:
    kinds = {"numbers": NUMBERS, "copying": COPYING, "code": CODE, "drill": [drill], "texts": TEXTS}[source]
    question, answer = rng.choice(kinds)(rng)
    if source == "texts":
        return [Turn(question, answer, question, source)]
    prompt = question[0].upper() + question[1:] if rng.random() < 0.6 else question
    last = question.rsplit(". ", 1)[-1].split(" ")[0]
    if last in wording.QUESTION_WORDS and ":" not in question and rng.random() < 0.8:
        prompt += "?"
    return [Turn(prompt, answer, question, source)]


def outside_turns(rng: random.Random) -> list[Turn]:
    groups, single, naming, plain = _outside()
    roll = rng.random()
    if roll < 0.25:
        question, subject = rng.choice(single), None
    elif roll < 0.4:
        subject = rng.choice([
            f"{rng.choice(NAMES)} {rng.choice(NAMES)}son",
            f"the {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} of {rng.choice(NAMES)}",
            f"the history of the {rng.choice(NOUNS)}",
        ])  # fmt: skip
        question = rng.choice(
            ["who is {}", "tell me about {}", "what is {}", "write an essay about {}", "why is {} important"]
        ).format(subject)
    else:
        frames, subjects = rng.choice(groups)
        subject = rng.choice(subjects)
        question = rng.choice(frames).format(subject)
    if subject and rng.random() < 0.6:
        answer = choose_words(rng.choice(naming), rng).format(subject)
    else:
        answer = choose_words(rng.choice(plain), rng)
    return [Turn(wording.surface(question, rng), answer, question, "outside")]


def memory_turns(rng: random.Random) -> list[Turn]:
    """The user says something and asks for it later."""
    name, thing = rng.choice(NAMES), rng.choice(NOUNS)
    colour = rng.choice(["red", "blue", "green", "yellow", "black", "white"])
    said, reply, asked, answer = rng.choice(MEMORIES)

    def fill(text: str) -> str:
        return text.format(n=name, c=colour, t=thing)

    reply = fill(reply)
    first = Turn(
        wording.surface(fill(said), rng, polite=False), reply[0].upper() + reply[1:], fill(said), "memory"
    )
    second = Turn(
        wording.surface(rng.choice(asked.split("|")), rng, polite=False), fill(answer), None, "memory"
    )
    between = (
        [] if rng.random() < 0.6 else draw_turns(rng.choice(["smalltalk", "numbers", "facts"]), rng, False)
    )
    return [first, *between, second]


def again_turns(rng: random.Random) -> list[Turn]:
    """An answer that is asked for again: word for word, or with the same question."""
    source = rng.choice(
        ["speculative", "program", "computing", "smalltalk", "code", "facts", "outside", "texts"]
    )
    first = draw_turns(source, rng, False)[0]
    same = rng.random() < 0.5
    asked = first.prompt if same else wording.surface(rng.choice(wording.options(wording.REPEAT)), rng)
    return [first, Turn(asked, first.answer, first.question if same else None, "again")]


def draw_turns(source: str, rng: random.Random, brief: bool) -> list[Turn]:
    if source in ("speculative", "program", "smalltalk", "computing"):
        return topic_turns(source, rng, brief)
    if source == "code":
        return topic_turns("code", rng, brief) if rng.random() < 0.7 else task_turns("code", rng)
    if source in ("numbers", "copying", "drill", "texts"):
        return task_turns(source, rng)
    return {
        "asked": asked_turns,
        "facts": fact_turns,
        "outside": outside_turns,
        "memory": memory_turns,
        "again": again_turns,
    }[source](rng)


def conversation(rng: random.Random, weights: dict[str, int]) -> Conversation:
    """One to six draws of turns, most often one."""
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
    """Endless conversations in which no prompt is held out."""
    rng = random.Random(f"train {seed}")
    while True:
        drawn = conversation(rng, weights)
        asked = [text for turn in drawn.turns if turn.question for text in (turn.question, turn.prompt)]
        if not any(map(is_held_out, asked)):
            yield drawn


def held_out_conversations(seed: int) -> Iterator[Conversation]:
    """Endless conversations of one prompt each, all of them held out."""
    rng = random.Random(f"held out {seed}")
    while True:
        source = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        turns = draw_turns(source, rng, False)
        first = turns[0]
        if first.question and is_held_out(first.question) and is_held_out(first.prompt):
            yield Conversation(None, (first,))
