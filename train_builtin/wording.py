"""Variations of a question: frames, politeness, case, question marks, typing errors."""

import random

DEFINE = """what is {}|what's {}|what is {}|explain {}|explain {}|tell me about {}|tell me about {}|
can you explain {}|please explain {}|describe {}|define {}|what do you know about {}|
what does {} mean|i want to know about {}|what about {}|can you tell me about {}|
could you explain {} to me|i would like to understand {}|explain {} in simple words|
explain {} like i am five|do you know what {} is|give me an introduction to {}|
help me understand {}|how would you describe {}|what should i know about {}|
tell me something about {}|i don't understand {}|what exactly is {}|teach me about {}|{}"""
DEFINE_SHORT = """explain {} in one sentence
|what is {} in short|briefly what is {}|give me a short explanation of {}
|what is {} in one sentence|{} in a nutshell|define {} briefly|a short answer please what is {}"""
DEFINE_EXAMPLE = (
    "give me an example of {}|can you give an example for {}|show me an example of {}|an example of {} please"
)
DO_IN_PYTHON = """how do i {0} in python|how can i {0} in python|write python code to {0}|
show me how to {0} in python|python code to {0}|write a python function to {0}|
write a function to {0}|show me code to {0}|how to {0}|{0} in python|i want to {0} in python|
can you {0} in python|give me a python example to {0}|write code that can {0}|
help me {0} in python|python {0}|how would you {0} in python|please write a program to {0}|
write a python function that {1}|write a function that {1}|a python function that {1}|
i need a function that {1}"""
"""`{0}` is a task such as "reverse a string", `{1}` the same in the third person."""
MORE = """tell me more|more please|go on|can you tell me more|more details please|
say more about that|continue|that is interesting tell me more|please explain more|
what else|and what else|explain that in more detail|more"""
EXAMPLE = """give me an example|for example|can you give an example|an example please
|show me an example|do you have an example"""
WHY = "why|why is that|why so|but why|what is the reason|how come|why does that work|can you say why"
SHORTER = """shorter please|in one sentence|too long|make it shorter|give me the short version|summarise that
|summarize that please|in short|can you say that in one sentence|tl;dr|briefly please"""
AGAIN = """explain it again|say it in other words|can you rephrase that|i did not understand that|
explain it differently|once more please|say that again in other words"""
REPEAT = """repeat that|repeat your answer|say that again|can you repeat that|write that again please|
repeat that word for word|what did you just say|your last answer again please|write your answer once more|
repeat what you said|the same again"""
POLITE = """please {}|{} please|can you tell me {}|hey, {}|ok, {}|so, {}|quick question: {}|
i have a question: {}|one more question: {}|now {}|and {}|hello, {}|hi! {}|
could you tell me {}|i wonder {}|thanks! {}|tell me, {}"""


def options(text: str) -> list[str]:
    """The entries of a `|`-separated list, which may span several lines."""
    return [item.strip() for item in text.replace("\n", "").split("|")]


def third_person(task: str) -> str:
    """`reverse a string` as `reverses a string`."""
    verb, _, rest = task.partition(" ")
    ending = "es" if verb.endswith(("sh", "ch", "s", "x", "o")) else "s"
    return f"{verb}{ending} {rest}"


def mistype(text: str, rng: random.Random) -> str:
    """The text with one letter dropped, doubled or swapped with the next."""
    spots = [i for i in range(1, len(text) - 1) if text[i].isalpha() and text[i + 1].isalpha()]
    if not spots:
        return text
    i = rng.choice(spots)
    kind = rng.randrange(3)
    if kind == 0:
        return text[:i] + text[i + 1 :]
    if kind == 1:
        return text[:i] + text[i] + text[i:]
    return text[:i] + text[i + 1] + text[i] + text[i + 2 :]


CASUAL = [
    ("what is ", "whats "),
    ("what is ", "what's "),
    ("i am ", "i'm "),
    ("you are ", "you're "),
    ("do not ", "don't "),
    ("does not ", "doesn't "),
    ("is not ", "isn't "),
    ("i am ", "im "),
    (" a ", " "),
    (" the ", " "),
    (" an ", " "),
    ("cannot", "can't"),
    ("you ", "u "),
    ("explain ", "explain to me "),
    ("how do i ", "how can i "),
    ("how do i ", "how to "),
    ("how do i ", "how does one "),
    ("can you ", "could you "),
    ("can i ", "may i "),
    ("model", "network"),
    ("the program", "mlx-spec"),
    ("this program", "mlx-spec"),
    ("the program", "this program"),
    ("drafting", "speculation"),
    ("speculative decoding", "spec decoding"),
    ("speculative decoding", "drafting"),
    ("answer", "reply"),
    ("answer", "response"),
    ("guess", "proposal"),
    ("guesses", "proposals"),
    ("fast", "quick"),
    ("faster", "quicker"),
    ("stop ", "interrupt "),
    ("download ", "get "),
    ("delete ", "remove "),
    ("use ", "run "),
    ("what happens ", "what is done "),
    ("why is ", "why's "),
    ("how much ", "about how much "),
    ("tell me ", "pls tell me "),
    ("explain ", "pls explain "),
    ("show me ", "show "),
    ("give me ", "i want "),
    ("what does ", "what do "),
]
"""Changes of wording that keep the meaning: (old, new)."""


def reword(text: str, rng: random.Random) -> str:
    """The text after one applicable change of `CASUAL`, if any."""
    fitting = [(old, new) for old, new in CASUAL if old in text]
    if not fitting:
        return text
    old, new = rng.choice(fitting)
    return text.replace(old, new, 1)


def surface(question: str, rng: random.Random, *, polite: bool = True) -> str:
    """`question` (lower case, no end mark) as a user might type it."""
    text = question
    while rng.random() < 0.25:
        text = reword(text, rng)
    if polite and rng.random() < 0.15:
        text = rng.choice(options(POLITE)).format(text)
    elif rng.random() < 0.05:
        text += rng.choice([" please", " thanks", " in mlx-spec", " exactly", " again"])
    if rng.random() < 0.08:
        text = mistype(text, rng)
    if rng.random() < 0.6:
        text = text[0].upper() + text[1:]
        text = text.replace(" i ", " I ")
    asks = question.split(" ")[0] in QUESTION_WORDS
    if asks and rng.random() < 0.7:
        text += "?"
    elif not asks and rng.random() < 0.4:
        text += rng.choice(".....!")
    return text


QUESTION_WORDS = set(
    """what what's how why when where who which is are can could do does did will would should am
whose""".split()
)
