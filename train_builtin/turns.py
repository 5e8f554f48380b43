"""Turns of conversations, each drawn from one source: topics, facts, tasks, out-of-domain questions, things
to remember, repeated answers.
"""

import random
from dataclasses import dataclass
from functools import cache

from train_builtin import wording
from train_builtin.code_tasks import CODE
from train_builtin.copying_tasks import COPYING, drill
from train_builtin.facts import fact
from train_builtin.number_tasks import NUMBERS
from train_builtin.texts import TEXTS
from train_builtin.topics import FOLDER, Topic, choose_words, read_topics
from train_builtin.words import ADJECTIVES, NAMES, NOUNS

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
"""(the user's statement, the reply, later questions about it, their answer)"""


@dataclass(frozen=True)
class Turn:
    """A prompt and its answer."""

    prompt: str
    """As the user types it."""
    answer: str
    question: str | None
    """The prompt before its wording was varied; None for a follow-up to the previous turn."""
    source: str


@cache
def _asked() -> list[tuple[Topic, list[str]]]:
    """Topics with further wordings of their questions."""
    topics = [topic for source in ("speculative", "program", "smalltalk") for topic in read_topics(source)]
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
    """Groups of (frames, subjects), single questions, answers that name the subject, other answers."""
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
    topic = rng.choice(read_topics(source))
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
    """One of the questions that users ask first or most often."""
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
    """The user states something and asks about it later."""
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
    """The user asks for an answer again, in words for "repeat that" or with the same question."""
    source = rng.choice(
        ["speculative", "program", "computing", "smalltalk", "code", "facts", "outside", "texts"]
    )
    first = draw_turns(source, rng, False)[0]
    same = rng.random() < 0.5
    asked = first.prompt if same else wording.surface(rng.choice(wording.options(wording.REPEAT)), rng)
    return [first, Turn(asked, first.answer, first.question if same else None, "again")]


def draw_turns(source: str, rng: random.Random, brief: bool) -> list[Turn]:
    """Turns of a source of `mixtures.WEIGHTS`; `brief`: with short answers, if it has any."""
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
