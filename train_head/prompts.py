"""Prompts that users of a small chat model might write, about words and passages of given texts."""

import random
import re
from collections.abc import Iterator, Sequence

from models.training.template import OPENINGS, TASKS

LONGEST = 1700
"""Characters of a passage."""
WRITTEN_ON = 0.27
"""Share of prompts of which only the first words are given: the target writes the rest."""
ABOUT_PASSAGES = 0.27
QUOTED_QUESTIONS = 0.1
"""Share of questions to several passages."""
SUMS = 0.08
QUESTIONS = (
    "What is {}?", "Explain {} in simple words.", "Tell me about {}.", "Write a short story about {}.",
    "Write a poem about {}.", "Why is {} important?", "How does {} work?", "Give me five facts about {}.",
    "What is the difference between {} and {}?", "Write an email about {}.", "Describe {} to a child.",
    "What are the pros and cons of {}?", "Write a news article about {}.", "Who invented {}?",
    "Write a dialogue between two friends about {}.", "How can I learn about {}?", "Compare {} with {}.",
    "Write a blog post about {} and {}.", "Make a quiz about {}.", "Where does the word {} come from?",
    "Imagine you are {}. Describe your day.", "Give me advice on {}.", "Write a speech about {}.",
    "What would happen without {}?", "Explain the concept of {} with an example.", "when was {} first used",
    "what does {} mean", "who is known for {}", "how many {} are there in the world", "where is {} found",
    "Write a Python function that computes {}.", "Implement {} in Python.", "Act as an expert on {}.",
    "Write an SQL query for a table of {}.", "Plan a trip to see {}.", "Write a product review of {}.",
)  # fmt: skip
NAMES = "Anna Ben Clara David Emma Felix Grace Henry Ivy Jack Karen Leo Mia Noah Olivia Paul Rosa Sam".split()
THINGS = "apples books pencils marbles stamps cookies tickets flowers eggs toys coins bottles cards".split()
FOLLOW_UPS = (
    "Tell me more.", "Can you give an example?", "Rewrite your answer in one sentence.", "Make it shorter.",
    "Now explain it to a child.", "Why?", "Are you sure?", "Translate your answer into German.",
    "Write it as a poem.", "Give me three more.", "What matters most?", "Write a title for it.",
)  # fmt: skip


def passages(text: str) -> Iterator[str]:
    """A text in passages of whole paragraphs."""
    found = ""
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = " ".join(paragraph.split())
        if found and len(found) + len(paragraph) > LONGEST:
            yield found
            found = ""
        found = f"{found}\n\n{paragraph}".strip()[:LONGEST]
    if found:
        yield found


def prompts(texts: Sequence[str], seed: int) -> Iterator[tuple[str, bool]]:
    """(prompt, whether the target is to write the rest of it), without end."""
    draw = random.Random(seed)
    given = [each for text in texts for each in passages(text) if len(each) > 100]
    words = sorted({word for text in texts for word in re.findall(r"\b[A-Za-z][a-z]{4,14}\b", text)})
    while True:
        chance = draw.random()
        if (chance := chance - WRITTEN_ON) < 0:
            yield draw.choice(("", "", *OPENINGS)), True
        elif (chance := chance - ABOUT_PASSAGES) < 0:
            task, passage = draw.choice(TASKS), draw.choice(given)
            yield (task + passage if draw.random() < 0.8 else f"{passage}\n\n{task.split(chr(10))[0]}"), False
        elif (chance := chance - QUOTED_QUESTIONS) < 0:
            quoted = [draw.choice(given)[:600] for _ in range(draw.randint(1, 4))]
            asked = draw.choice(re.findall(r"[A-Za-z]{5,}", draw.choice(quoted)) or words)
            body = "\n\n".join(f"Passage {i + 1}: {each}" for i, each in enumerate(quoted))
            yield (
                f"Based on these passages, answer the question.\n\n{body}\n\nQuestion: what is {asked}?",
                False,
            )
        elif chance - SUMS < 0:
            yield _sum(draw), False
        else:
            question = draw.choice(QUESTIONS)
            yield question.format(*(draw.choice(words) for _ in range(question.count("{}")))), False


def _sum(draw: random.Random) -> str:
    a, b, c = draw.randint(2, 60), draw.randint(2, 30), draw.randint(2, 12)
    (p, q), (x, y) = draw.sample(NAMES, 2), draw.sample(THINGS, 2)
    return draw.choice((
        f"{p} has {a} {x}. {q} has {c} times as many {x} as {p}. How many {x} do they have together?",
        f"{p} buys {c} boxes of {x}. Each box holds {b} {x}. {p} gives {b} to {q}. How many are left?",
        f"A shop sells {x} for ${c} and {y} for ${b} each. {p} buys {a} {x} and {c} {y}. What is to pay?",
        f"{p} reads {b} pages a day for {c} days and {a} pages on the weekend. How many pages are that?",
        f"A train travels {2 * a} miles in {c} hours. How far does it travel in {b} hours?",
        f"{p} is {b} years older than {q}. In {c} years {p} will be twice as old. How old is {q} now?",
        f"{p} saves ${b} each week. How many weeks does it take to buy a bicycle that costs ${a * b}?",
        f"What is {a} * {b} + {c}?",
        f"Solve for x: {c}x + {b} = {a * c + b}", f"What is {5 * c}% of {a * 10}?",
    ))  # fmt: skip
