# ruff: noqa: E501 (a fact is one line)
"""Small tables of facts, each with questions and answers."""

import random

CAPITALS = dict(
    pair.split(":")
    for pair in """France:Paris|Germany:Berlin|Italy:Rome|Spain:Madrid|Portugal:Lisbon|England:London|
Ireland:Dublin|Poland:Warsaw|Austria:Vienna|Greece:Athens|Norway:Oslo|Sweden:Stockholm|
Finland:Helsinki|Denmark:Copenhagen|Russia:Moscow|Ukraine:Kyiv|Turkey:Ankara|
Egypt:Cairo|Kenya:Nairobi|Japan:Tokyo|China:Beijing|India:New Delhi|Thailand:Bangkok|
South Korea:Seoul|Vietnam:Hanoi|Indonesia:Jakarta|Australia:Canberra|Canada:Ottawa|
the United States:Washington, D.C.|Mexico:Mexico City|Cuba:Havana|Brazil:Brasilia|
Argentina:Buenos Aires|Chile:Santiago|Peru:Lima|Colombia:Bogota|Belgium:Brussels|
the Netherlands:Amsterdam|Switzerland:Bern|Hungary:Budapest|Romania:Bucharest|
Iceland:Reykjavik|Iran:Tehran|Iraq:Baghdad|Israel:Jerusalem|Morocco:Rabat|Ghana:Accra|
Ethiopia:Addis Ababa|Pakistan:Islamabad|Nepal:Kathmandu""".replace("\n", "").split("|")
)
OPPOSITES = dict(
    pair.split(":")
    for pair in """big:small|hot:cold|day:night|up:down|left:right|fast:slow|old:new|young:old|happy:sad|
light:dark|open:closed|high:low|long:short|rich:poor|hard:soft|wet:dry|full:empty|
early:late|good:bad|strong:weak|clean:dirty|loud:quiet|near:far|first:last|begin:end|
love:hate|win:lose|buy:sell|push:pull|yes:no|true:false|black:white|in:out|heavy:light|
thick:thin|sweet:sour|brave:afraid|cheap:expensive|easy:difficult|before:after|
inside:outside|summer:winter|north:south|east:west|always:never|above:below|
accept:reject|remember:forget|small:big|cold:hot|slow:fast|night:day""".replace("\n", "").split("|")
)
COLOURS = dict(
    pair.split(":")
    for pair in """the sky:blue|grass:green|snow:white|a banana:yellow|blood:red|a tomato:red|coal:black|
a lemon:yellow|an orange:orange|milk:white|chocolate:brown|a carrot:orange|a leaf:green|
the night:black|a strawberry:red|the sun:yellow|a cucumber:green|a polar bear:white|
gold:yellow|a raven:black""".replace("\n", "").split("|")
)
SOUNDS = dict(
    pair.split(":")
    for pair in """a dog:barks|a cat:meows|a cow:moos|a sheep:bleats|a lion:roars|a duck:quacks|
a horse:neighs|a bee:buzzes|a frog:croaks|a wolf:howls|an owl:hoots|a pig:grunts|
a snake:hisses|a bird:sings""".replace("\n", "").split("|")
)
LEGS = dict(
    pair.split(":")
    for pair in """a dog:four|a cat:four|a spider:eight|a bird:two|an ant:six|a bee:six|a horse:four|
a human:two|a fly:six|a snake:no|a cow:four|an elephant:four|a table:four|a fish:no|
a duck:two""".replace("\n", "").split("|")
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()

PLAIN = {
    "how many days are in a week|how many days does a week have": "A week has seven days.",
    "how many months are in a year|how many months does a year have": "A year has twelve months.",
    "how many hours are in a day|how many hours does a day have": "A day has 24 hours.",
    "how many minutes are in an hour|how many minutes has an hour": "An hour has 60 minutes.",
    "how many seconds are in a minute": "A minute has 60 seconds.",
    "how many days are in a year|how many days has a year": "A year has 365 days, and a leap year has 366.",
    "how many planets are there|how many planets are in the solar system": "There are eight planets in our solar system.",
    "list the planets|name the planets|which planets are there|what are the planets": "The planets are Mercury, Venus, "
    "Earth, Mars, Jupiter, Saturn, Uranus and Neptune.",
    "what is the largest planet|which planet is the largest|which planet is the biggest": "Jupiter is the largest planet.",
    "which planet is the smallest|what is the smallest planet": "Mercury is the smallest planet.",
    "which planet is closest to the sun|what planet is next to the sun": "Mercury is closest to the sun.",
    "on which planet do we live|what planet do we live on": "We live on Earth.",
    "list the days of the week|name the days of the week|what are the days of the week": "The days of the week are Monday, "
    "Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday.",
    "list the months|name the months of the year|what are the months": "The months are January, February, March, April, May, "
    "June, July, August, September, October, November and December.",
    "what are the seasons|name the four seasons|list the seasons": "The four seasons are spring, summer, autumn and winter.",
    "say the alphabet|recite the alphabet|list the letters of the alphabet|what is the alphabet": "A, B, C, D, E, F, G, H, I, "
    "J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z.",
    "how many letters are in the alphabet|how many letters has the alphabet": "The English alphabet has 26 letters.",
    "what are the vowels|list the vowels": "The vowels are A, E, I, O and U.",
    "name three colours|tell me three colors|list some colours": "Three colours are red, green and blue.",
    "name three animals|list three animals|tell me some animals": "Three animals are the cat, the horse and the owl.",
    "name three fruits|list some fruits|tell me three fruits": "Three fruits are the apple, the banana and the cherry.",
    "how many legs has a chair|how many legs does a chair have": "A chair has four legs.",
    "what do bees make|what does a bee make": "Bees make honey.",
    "what do cows give|what does a cow give": "Cows give milk.",
    "what is water made of": "Water is made of hydrogen and oxygen.",
    "what is ice|what is ice made of": "Ice is frozen water.",
    "is the earth round|is the earth flat": "The earth is round, like a ball.",
    "is the sun a star|what is the sun": "The sun is a star. It gives us light and warmth.",
    "what is the moon": "The moon is a ball of rock that circles the earth.",
    "which animal is the largest|what is the largest animal": "The blue whale is the largest animal.",
    "which animal is the fastest|what is the fastest land animal": "The cheetah is the fastest animal on land.",
}


def _lists() -> list[tuple[list[str], list[str]]]:
    """Every fact as (questions, answers)."""
    facts: list[tuple[list[str], list[str]]] = []
    for country, city in CAPITALS.items():
        asks = "what is the capital of {}|which city is the capital of {}|the capital of {}|tell me the capital of {}|name the capital of {}"
        facts.append(
            (
                [ask.format(country) for ask in asks.split("|")],
                [f"The capital of {country} is {city.removesuffix('.')}."],
            )
        )
        facts.append(
            (
                [f"in which country is {city.removesuffix('.')}", f"where is {city.removesuffix('.')}"],
                [f"{city.removesuffix('.')} is the capital of {country}."],
            )
        )
    for word, other in OPPOSITES.items():
        asks = "what is the opposite of {}|the opposite of {}|give me the opposite of {}|tell me the opposite of {}|which word is the opposite of {}"
        facts.append(([ask.format(word) for ask in asks.split("|")], [f"The opposite of {word} is {other}."]))
    for thing, colour in COLOURS.items():
        facts.append(
            (
                [
                    f"what colour is {thing}",
                    f"which colour has {thing}",
                    f"what color is {thing}",
                    f"tell me the colour of {thing}",
                ],
                [f"{thing.capitalize()} is {colour}."],
            )
        )
    for animal, sound in SOUNDS.items():
        facts.append(
            (
                [
                    f"what does {animal} do",
                    f"which sound does {animal} make",
                    f"what sound does {animal} make",
                    f"how does {animal} sound",
                ],
                [f"{animal.capitalize()} {sound}."],
            )
        )
    for animal, count in LEGS.items():
        facts.append(
            (
                [
                    f"how many legs does {animal} have",
                    f"how many legs has {animal}",
                    f"count the legs of {animal}",
                ],
                [f"{animal.capitalize()} has {count} legs."],
            )
        )
    for names, what in ((DAYS, "day"), (MONTHS, "month")):
        for i, name in enumerate(names):
            after, before = names[(i + 1) % len(names)], names[i - 1]
            facts.append(
                (
                    [
                        f"which {what} comes after {name}",
                        f"what {what} is after {name}",
                        f"what comes after {name}",
                        f"the {what} after {name}",
                    ],
                    [f"{after} comes after {name}."],
                )
            )
            facts.append(
                (
                    [
                        f"which {what} comes before {name}",
                        f"what {what} is before {name}",
                        f"what comes before {name}",
                        f"the {what} before {name}",
                    ],
                    [f"{before} comes before {name}."],
                )
            )
            facts.append(
                (
                    [
                        f"what is the {ORDINALS[i]} {what} of the {'week' if what == 'day' else 'year'}",
                        f"which is the {ORDINALS[i]} {what}",
                    ],
                    [f"The {ORDINALS[i]} {what} of the {'week' if what == 'day' else 'year'} is {name}."],
                )
            )
    for i, planet in enumerate(PLANETS):
        facts.append(
            (
                [f"which planet is the {ORDINALS[i]} from the sun", f"what is the {ORDINALS[i]} planet"],
                [f"{planet} is the {ORDINALS[i]} planet from the sun."],
            )
        )
        facts.append(
            (
                [f"what is {planet}", f"tell me about the planet {planet}"],
                [f"{planet} is the {ORDINALS[i]} planet from the sun."],
            )
        )
    facts.extend((asks.split("|"), [answer]) for asks, answer in PLAIN.items())
    return facts


FACTS = _lists()


def fact(rng: random.Random) -> tuple[str, str]:
    """A random question, in lower case except names, and its answer."""
    asks, answers = rng.choice(FACTS)
    return rng.choice(asks), rng.choice(answers)
