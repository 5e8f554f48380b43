# ruff: noqa: E501 (frames of questions are one line each)
"""Tasks on short random texts: copying, rewriting, reading."""

import random
from collections.abc import Callable

from train_builtin.task import Task, join, pick
from train_builtin.words import ADJECTIVES, NAMES, NOUNS, PAST, PLACES, sentence, words


def repeat(rng: random.Random) -> Task:
    text = " ".join(sentence(rng) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))
    frames = "repeat this sentence: {}|repeat: {}|repeat after me: {}|copy this: {}|copy this sentence: {}|say: {}|write this again: {}|please repeat: {}|copy the text: {}|echo: {}|repeat the following text: {}"
    return pick(rng, frames).format(text), text


def repeat_word(rng: random.Random) -> Task:
    word, n = rng.choice(NOUNS + NAMES), rng.randint(2, 6)
    number = rng.choice([str(n), ["two", "three", "four", "five", "six"][n - 2]])
    return pick(
        rng, "say {} {} times|repeat the word {} {} times|write {} {} times|say the word {} {} times"
    ).format(word, number), " ".join([word] * n)


def say_word(rng: random.Random) -> Task:
    word = rng.choice(NOUNS + NAMES)
    return pick(rng, "say {}|say the word {}|write the word {}|just say {}|repeat the word {}").format(
        word
    ), word


def upper(rng: random.Random) -> Task:
    text = sentence(rng) if rng.random() < 0.4 else " ".join(words(rng, 1, 4))
    frames = "write this in upper case: {}|upper case: {}|make this upper case: {}|in capital letters: {}|write in capitals: {}|convert to upper case: {}"
    return pick(rng, frames).format(text), text.upper()


def lower(rng: random.Random) -> Task:
    text = " ".join(words(rng, 1, 4)).upper()
    return pick(
        rng, "write this in lower case: {}|lower case: {}|make this lower case: {}|in small letters: {}"
    ).format(text), text.lower()


def bullet_list(rng: random.Random) -> Task:
    items = words(rng, 2, 6)
    given = join(items) if rng.random() < 0.5 else ", ".join(items)
    frames = "make a list of {}|put these words in a list: {}|write these as a list: {}|turn this into a list: {}|list these words: {}|make a bullet list: {}"
    return pick(rng, frames).format(given), "\n".join(f"- {item}" for item in items)


def numbered_list(rng: random.Random) -> Task:
    items = words(rng, 2, 6)
    frames = "make a numbered list: {}|number these words: {}|write a numbered list of {}|put these in a numbered list: {}"
    return pick(rng, frames).format(", ".join(items)), "\n".join(
        f"{i}. {item}" for i, item in enumerate(items, 1)
    )


def reverse_list(rng: random.Random) -> Task:
    items = words(rng, 3, 5)
    frames = "reverse this list: {}|write these words in reverse order: {}|reverse the order: {}|turn the list around: {}"
    return pick(rng, frames).format(", ".join(items)), ", ".join(reversed(items))


def sort_words(rng: random.Random) -> Task:
    items = words(rng, 3, 4)
    return pick(rng, "sort these words: {}|sort by alphabet: {}|put in alphabetical order: {}").format(
        ", ".join(items)
    ), ", ".join(sorted(items))


def sort_numbers(rng: random.Random) -> Task:
    items = rng.sample(range(1, 30), rng.randint(3, 5))
    return pick(rng, "sort these numbers: {}|put these numbers in order: {}|sort: {}").format(
        ", ".join(map(str, items))
    ), ", ".join(map(str, sorted(items)))


def pick_word(rng: random.Random) -> Task:
    items = words(rng, 3, 6)
    which = rng.choice(["first", "last", "second"])
    word = items[{"first": 0, "second": 1, "last": -1}[which]]
    return pick(
        rng,
        "what is the {w} word of this list: {l}|which word is {w}: {l}|the {w} word in: {l}|give me the {w} word: {l}",
    ).format(w=which, l=", ".join(items)), f"The {which} word is {word}."


def count_words(rng: random.Random) -> Task:
    items = words(rng, 2, 7)
    return pick(rng, "how many words are in this list: {}|count the words: {}|how many words: {}").format(
        ", ".join(items)
    ), f"There are {len(items)} words: {join(items)}."


def replace(rng: random.Random) -> Task:
    old, new, other = rng.sample(NOUNS, 3)
    name, verb, adjective = rng.choice(NAMES), rng.choice(PAST), rng.choice(ADJECTIVES)
    shape = rng.choice(
        ["{n} {v} the {a} {x}.", "The {x} is {a}.", "The {a} {x} was {p}.", "{n} {v} the {x} and the {o}."]
    )
    place = rng.choice(PLACES)

    def fill(x: str) -> str:
        return shape.format(n=name, v=verb, a=adjective, x=x, o=other, p=place)

    frames = "replace {a} with {b}: {t}|replace {a} by {b} in this sentence: {t}|change {a} to {b}: {t}|put {b} instead of {a}: {t}"
    return pick(rng, frames).format(a=old, b=new, t=fill(old)), fill(new)


def greet(rng: random.Random) -> Task:
    name = rng.choice(NAMES)
    return pick(rng, "say hello to {}|greet {}|say hi to my friend {}|please greet {}").format(
        name
    ), f"Hello, {name}! Nice to meet you."


def fix_typo(rng: random.Random) -> Task:
    text = sentence(rng)
    tokens = text.split(" ")
    spots = [i for i, word in enumerate(tokens) if len(word.strip(".")) > 3 and word.islower()]
    if not spots:
        return repeat(rng)
    i = rng.choice(spots)
    j = rng.randint(1, len(tokens[i].strip(".")) - 2)
    word = tokens[i]
    wrong = word[:j] + word[j + 1] + word[j] + word[j + 2 :]
    bad = " ".join([*tokens[:i], wrong, *tokens[i + 1 :]])
    return pick(
        rng, "fix the typo: {}|correct this sentence: {}|fix the spelling: {}|correct the mistake: {}"
    ).format(bad), text


def summarise(rng: random.Random) -> Task:
    name, thing, place = rng.choice(NAMES), rng.choice(NOUNS), rng.choice(PLACES)
    first = f"{name} {rng.choice(PAST)} the {rng.choice(ADJECTIVES)} {thing} {place}."
    rest = [sentence(rng) for _ in range(rng.randint(1, 3))]
    frames = "summarise this text: {}|summarize: {}|give me a summary of this text: {}|make this shorter: {}|what is this text about: {}|sum up: {}"
    return pick(rng, frames).format(" ".join([first, *rest])), f"In short: {first}"


def read_who(rng: random.Random) -> Task:
    people = rng.sample(NAMES, rng.randint(2, 4))
    things = rng.sample(NOUNS, len(people))
    verb = rng.choice(["has", "likes", "bought", "found", "drew"])
    text = " ".join(f"{person} {verb} the {thing}." for person, thing in zip(people, things, strict=True))
    i = rng.randrange(len(people))
    if rng.random() < 0.5:
        return f"{text} who {verb} the {things[i]}", f"{people[i]} {verb} the {things[i]}."
    if verb in ("has", "likes"):
        return (
            f"{text} what does {people[i]} {'have' if verb == 'has' else 'like'}",
            f"{people[i]} {verb} the {things[i]}.",
        )
    base = {"bought": "buy", "found": "find", "drew": "draw"}[verb]
    return f"{text} what did {people[i]} {base}", f"{people[i]} {verb} the {things[i]}."


def read_where(rng: random.Random) -> Task:
    things, places = rng.sample(NOUNS, 3), rng.sample(PLACES, 3)
    text = " ".join(f"The {thing} is {place}." for thing, place in zip(things, places, strict=True))
    i = rng.randrange(3)
    return f"{text} where is the {things[i]}", f"The {things[i]} is {places[i]}."


def write_about(rng: random.Random) -> Task:
    thing, adjective, name = rng.choice(NOUNS), rng.choice(ADJECTIVES), rng.choice(NAMES)
    answer = rng.choice([
        f"The {thing} is {adjective}.",
        f"{name} {rng.choice(PAST)} the {adjective} {thing} {rng.choice(PLACES)}.",
        f"There is a {thing} {rng.choice(PLACES)}.",
    ])  # fmt: skip
    return pick(
        rng,
        "write a sentence with the word {}|make a sentence with {}|use the word {} in a sentence|write a sentence about {}",
    ).format(thing), answer


def rejected_round(rng: random.Random) -> Task:
    drafted = words(rng, 3, 4)
    kept = rng.randint(0, len(drafted))
    bonus = rng.choice([noun for noun in NOUNS if noun not in drafted])
    prompt = (
        f"the draft proposes {join(drafted)}. the target accepts {kept} and adds {bonus}. what is written"
    )
    if kept == 0:
        return prompt, f"No guess is accepted, so only the bonus token {bonus} is written."
    noun = "guess" if kept == 1 else "guesses"
    return (
        prompt,
        f"The first {kept} {noun} stay{'s' if kept == 1 else ''} and the bonus token follows: {join([*drafted[:kept], bonus])}.",
    )


def drill(rng: random.Random) -> Task:
    """A long sequence of unrelated words, digits or syllables to repeat: only copying can solve it."""
    kind = rng.randrange(4)
    if kind == 0:
        text = " ".join(str(rng.randint(0, 9)) for _ in range(rng.randint(5, 20)))
    elif kind == 1:
        syllables = [
            "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(1, 3)))
            for _ in range(rng.randint(2, 8))
        ]
        text = " ".join(syllables)
    else:
        pool = [*NOUNS, *NAMES, *ADJECTIVES, *PAST]
        text = (", " if kind == 2 else " ").join(rng.choices(pool, k=rng.randint(5, 24)))
    return pick(
        rng, "repeat: {}|copy this: {}|repeat these words: {}|say: {}|write this again: {}|echo: {}"
    ).format(text), text


COPYING: list[Callable[[random.Random], Task]] = [
    repeat, repeat, repeat, repeat_word, say_word, upper, lower, bullet_list, numbered_list, reverse_list, sort_words,
    sort_numbers, pick_word, count_words, replace, greet, fix_typo, summarise, summarise, read_who, read_who, read_where,
    write_about, rejected_round,
]  # fmt: skip
