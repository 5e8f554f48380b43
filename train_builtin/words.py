"""Word pools for the copying and rewriting tasks."""

import random

NAMES = """Anna Ben Carl Dora Emma Felix Greta Hugo Ida Jonas Klara Leo Mia Noah Olga Paul Rosa Sam
Tina Uma Victor Wanda Yara Zoe Alice Bob Clara David Elena Frank Grace Henry Iris Jack
Kate Lucas Maria Nina Oscar Peter Quentin Ruth Simon Tom Ursula Vera Will Xenia Yusuf
Zack Amir Bella Chen Diego Eva Fatima George Hana Ivan Julia Kofi Lina Marco Nora Omar
Priya Rita Sara Theo Walter John Mary James Linda Robert Susan Michael Karen Sofia Max""".split()

NOUNS = """cat dog bird fish horse cow sheep mouse lion tiger bear wolf fox rabbit frog duck owl
bee ant snake apple banana pear orange lemon cherry grape plum peach tomato potato
carrot onion bread cheese milk water tea coffee juice soup cake rice egg table chair bed
lamp door window wall roof house garden kitchen room street city village bridge river
lake sea mountain hill forest tree flower leaf grass stone sand cloud rain snow wind sun
moon star fire book pen paper letter map picture clock key box bag cup plate spoon fork
knife bottle glass shirt shoe hat coat glove sock car bus train bike boat ship plane
truck road ticket phone computer screen keyboard robot machine engine wheel tool hammer
nail rope ball doll game song drum piano guitar violin teacher doctor farmer baker
driver pilot sailor king queen child friend brother sister mother father uncle aunt
neighbour school office shop market park museum station island desert valley castle
tower ladder basket candle mirror pillow blanket carpet pencil ruler coin ring hammock
kite lantern saddle whistle anchor feather marble puzzle ribbon thread button pocket
wallet camera radio rocket planet token model draft target cache layer number word line
page story poem question answer""".split()

ADJECTIVES = """red blue green yellow black white brown grey pink purple big small old young new long
short tall round heavy light warm cold hot dry wet clean dirty quick slow quiet loud
soft hard bright dark sweet sour happy sad brave kind clever lazy tired hungry rich poor
strong weak empty full broken golden silver wooden""".split()

PAST = """saw found lost bought sold painted carried opened closed washed cleaned pushed pulled
liked loved watched followed held dropped threw caught built repaired hid moved kept
wanted needed drew counted touched""".split()

INTRANSITIVE = """slept laughed sang danced waited fell jumped swam ran walked smiled cried listened
worked played dreamed rested shouted arrived""".split()

PLACES = [
    "in the garden",
    "at home",
    "by the river",
    "on the hill",
    "in the kitchen",
    "at the market",
    "near the bridge",
    "under the tree",
    "behind the house",
    "in the city",
    "on the table",
    "at the station",
    "in the park",
    "next to the door",
    "on the roof",
    "at school",
    "in the forest",
    "by the sea",
    "in the museum",
    "on the island",
]

TIMES = [
    "today",
    "yesterday",
    "in the morning",
    "in the evening",
    "at night",
    "last week",
    "on Monday",
    "on Tuesday",
    "on Friday",
    "on Sunday",
    "in the summer",
    "in the winter",
    "every day",
    "after lunch",
    "before dinner",
]


def noun_phrase(rng: random.Random) -> str:
    """For example `the small house`."""
    adjective = rng.choice(ADJECTIVES) + " " if rng.random() < 0.5 else ""
    return f"the {adjective}{rng.choice(NOUNS)}"


def sentence(rng: random.Random) -> str:
    """A random sentence, such as `Anna painted the small house yesterday.`"""
    subject = rng.choice(NAMES) if rng.random() < 0.5 else noun_phrase(rng)
    if rng.random() < 0.7:
        core = f"{subject} {rng.choice(PAST)} {noun_phrase(rng)}"
    else:
        core = f"{subject} {rng.choice(INTRANSITIVE)}"
    if rng.random() < 0.5:
        core += " " + rng.choice(PLACES)
    if rng.random() < 0.3:
        core += " " + rng.choice(TIMES)
    return core[0].upper() + core[1:] + "."


def words(rng: random.Random, low: int, high: int) -> list[str]:
    """`low` to `high` distinct nouns."""
    return rng.sample(NOUNS, rng.randint(low, high))
