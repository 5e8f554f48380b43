"""Evaluates draft planning on simulated machines and texts: no model, no clock.

`python -m benchmarks.policy_worlds`. A world is a cost curve, a drafter, a kind of text and a machine's
noise; the controller answers prompts in it and is judged by the true times.
"""

import argparse
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np

from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.model import CANDIDATE
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.policy.policy import Policy
from mlx_spec.types import Round

CURVES = {
    "this CPU": {1: 1.0, 2: 1.46, 3: 1.58, 4: 1.63, 5: 1.85, 9: 2.15, 16: 2.49},
    "stranger": {1: 1.0, 2: 1.28, 4: 1.53, 8: 2.09, 16: 3.2},
    "M1, M2": {1: 1.0, 2: 1.75, 16: 12.25},
    "M4 Pro": {1: 1.0, 2: 1.0, 3: 1.13, 4: 1.45, 5: 1.75, 6: 2.05, 8: 2.8, 16: 5.5},
    "M5 Max": {1: 1.0, 3: 1.12, 5: 1.45, 8: 2.2, 12: 3.2, 16: 3.9},
}
"""Passes of the target by rows, in plain rounds, interpolated linearly. The Macs' are published, 4-bit."""
STEPS = (0.02, 0.1, 0.3, 0.6)
"""Time of a draft step, in plain rounds."""
LONG, SHORT = 512, 24
"""Tokens of an answer."""
RATES = (0.02, 0.15, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
TIMED_EVERY, TIMED_FIRST = 64, 4
"""Every how many rounds, and from which round on, the loop times draft and verify separately."""
HOST, DRAIN = 0.05, 0.1
"""Extra time of such a round, and of a round after one of another kind, in plain rounds."""
GRAPH = 2.0
"""Extra time of the first round of a draft length if passes are compiled, in plain rounds."""
TOKEN = 0.01
"""The draft model's time to read a missed token, in plain rounds."""
OUTLIERS = 0.01
"""Share of rounds that are timed five times too long."""

Rates = Callable[[random.Random, int], list[float]]


def constant(rate: float) -> Rates:
    return lambda rng, tokens: [rate] * tokens


def drifting(rng: random.Random, tokens: int) -> list[float]:
    """From one random rate to another."""
    return np.linspace(rng.uniform(0.02, 0.97), rng.uniform(0.02, 0.97), tokens).tolist()


def switching(rng: random.Random, tokens: int) -> list[float]:
    """High and low rates in turn, for 20 to 120 tokens each."""
    rates: list[float] = []
    good = rng.random() < 0.5
    while len(rates) < tokens:
        rates += [0.95 if good else 0.05] * rng.randint(20, 120)
        good = not good
    return rates[:tokens]


def mixed(rng: random.Random, tokens: int) -> list[float]:
    """A constant rate that differs between answers, from out of domain to copying."""
    return [rng.choice([0.05, 0.3, 0.6, 0.92])] * tokens


def late(rng: random.Random, tokens: int) -> list[float]:
    """A low rate at first, then a high one."""
    return [0.02] * 12 + [0.97] * (tokens - 12)


TEXTS: dict[str, Rates] = {
    **{f"{rate:.2f}": constant(rate) for rate in RATES},
    "drifting": drifting,
    "switching": switching,
    "mixed": mixed,
    "late": late,
}


@cache
def _passes(curve: str) -> list[float]:
    points = CURVES[curve]
    return [float(np.interp(k + 1, list(points), list(points.values()))) for k in range(CANDIDATE.limit + 1)]


@dataclass(frozen=True)
class World:
    """A machine, a drafter and a kind of text. Times are in plain rounds."""

    curve: str
    step: float
    text: str
    tokens: int = LONG
    wrong: float = 1.0
    """The initial cost estimates of drafted rounds are too high by this factor; 0: there are no estimates."""
    noise: float = 0.08
    slow: float = 0.0
    """Share of the time in which rounds take 1.5 times as long."""
    reading: float = 0.7
    """The draft model's prefill of the prompt, in plain rounds: the longer, the more tokens."""
    compiled: bool = False
    growth: float = 0.0
    """Relative growth of every round's time per 1000 tokens of context."""
    seed: int = 1

    def takes(self, k: int, at: int = 0) -> float:
        """Time of a round with draft length `k`."""
        return (_passes(self.curve)[k] + self.step * k) * (1 + self.growth * at / 1000)

    def costs(self) -> Costs:
        """The initial estimates: from a noisy calibration, wrong by the factor `wrong`."""
        rng, longest = random.Random(self.seed), CANDIDATE.limit
        if not self.wrong:
            return Costs()

        def believed(k: int) -> RoundCost:
            near = self.takes(k) * (self.wrong if k else 1.0) * rng.lognormvariate(0, self.noise / 2)
            return RoundCost(near, near * self.growth / 1000)

        return Costs(believed(0), {"model": {k: believed(k) for k in range(1, longest + 1)}})

    def answers(self, count: int) -> Iterator["Answer"]:
        rng = random.Random(self.seed + 1)
        for _ in range(count):
            rates = TEXTS[self.text](rng, self.tokens)
            slow, pace = False, []
            for _ in range(self.tokens):
                slow = rng.random() < (0.98 if slow else 0.02 * self.slow / max(0.01, 1 - self.slow))
                pace.append(1.5 if slow and self.slow else 1.0)
            yield Answer(self, [rng.random() < rate for rate in rates], pace)


@dataclass(frozen=True)
class Answer:
    """For each token, whether the draft model predicts it, and the machine's slowdown at that time."""

    world: World
    right: list[bool]
    pace: list[float]

    def accepted(self, at: int, k: int) -> int:
        """How many of `k` drafted tokens are accepted."""
        rest = self.right[at : at + k]
        return next((i for i, is_right in enumerate(rest) if not is_right), len(rest))

    def fixed(self, k: int) -> float:
        """The answer's time with a fixed draft length."""
        at, spent = 1, self.world.reading * (k > 0)
        while at < len(self.right):
            spent += self.world.takes(min(k, len(self.right) - at - 1), at) * self.pace[at]
            at += self.accepted(at, min(k, len(self.right) - at - 1)) + 1
        return spent


class Player:
    """Simulates answers of one world with a planner, as the loop would run them."""

    def __init__(self, planner: Policy, world: World):
        self.planner, self.world = planner, world
        self.rng = random.Random(world.seed + 2)
        self.built: set[int] = set()
        self.answers = 0

    def play(self, answer: Answer) -> float:
        """The answer's time after its first token."""
        world, planner, tokens = self.world, self.planner, len(answer.right)
        self.answers += 1
        planner.begin([self.answers])
        planner.count({self.answers: Round((), 0, (0,), "none", 1.0)}, NO_CANDIDATE, 0)
        at, spent, rested, before, rounds, timed_next = 1, 0.0, 1, ("none", False), 1, TIMED_FIRST
        behind = round(world.reading / TOKEN)
        while at < tokens:
            candidate, k = planner.choose([replace(CANDIDATE, shadows=rested, behind=behind)], at)
            k = min(k, tokens - at - 1) if candidate is not NO_CANDIDATE else 0
            shadow = candidate is not NO_CANDIDATE and not k
            kind = (candidate.drafter if k else "none", shadow)
            same = kind == before
            timed = k > 0 and same and rounds >= timed_next
            builds = world.compiled and k not in self.built
            self.built.add(k)
            accepted = answer.accepted(at, k)
            took = world.takes(k, at) + world.step * shadow + DRAIN * (not same) + HOST * timed
            took += TOKEN * behind if candidate is not NO_CANDIDATE else 0.0
            took *= answer.pace[at]
            took_once = took + GRAPH * builds
            if shadow:
                planner.shadow(self.answers, candidate, answer.right[at - rested : at])
            seen = took_once * self.rng.lognormvariate(0, world.noise)
            seen *= 5 if self.rng.random() < OUTLIERS else 1
            steady = same and not timed and not builds and not shadow and not (k and behind)
            gained = tuple(range(accepted + 1))
            read = Round(tuple(range(k)), accepted, gained, kind[0], seen, steady=steady)
            planner.count({self.answers: read}, candidate, at)
            timed_next = rounds + TIMED_EVERY if timed else timed_next
            used = candidate is not NO_CANDIDATE
            rested, behind = len(gained) if used else rested + len(gained), 0 if used else behind
            at, spent, before, rounds = at + len(gained), spent + took, kind, rounds + 1
        return spent


def judged(world: World, count: int, planner: Policy | None = None) -> tuple[float, float]:
    """(plain / auto, best fixed length / auto) over the answers; the best length is chosen in hindsight."""
    player, answers = Player(planner or Controller(world.costs()), world), list(world.answers(count))
    auto = sum(player.play(answer) for answer in answers)
    fixed = [sum(answer.fixed(k) for answer in answers) for k in range(CANDIDATE.limit + 1)]
    return fixed[0] / auto, min(fixed) / auto


def families(curves: Sequence[str], steps: Sequence[float]) -> dict[str, list[World]]:
    """Worlds by curve, and by what makes them difficult."""
    every = [World(*each) for each in product(curves, steps, TEXTS)]
    found: dict[str, list[World]] = defaultdict(list)
    for world in every:
        found[world.curve].append(world)
    for name, changes in {
        "short answers": {"tokens": SHORT},
        "short, compiled": {"tokens": SHORT, "compiled": True},
        "believed 3 x too high": {"wrong": 3.0},
        "believed 3 x too low": {"wrong": 1 / 3},
        "nothing measured": {"wrong": 0.0},
        "noise 3 %": {"noise": 0.03},
        "noise 15 %": {"noise": 0.15},
        "slow spells": {"slow": 0.3},
        "long prompt": {"reading": 6.0},
        "long prompt, short": {"reading": 15.0, "tokens": 96},
        "context grows": {"growth": 1.0},
    }.items():
        found[name] = [replace(world, **changes) for world in every]
    return found


def answers_of(world: World, tokens: int) -> int:
    return max(3, tokens // world.tokens)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy_worlds", description=__doc__)
    parser.add_argument("--tokens", type=int, default=1536, help="written in each world")
    parser.add_argument("--curves", nargs="*", default=list(CURVES), choices=CURVES)
    parser.add_argument("--steps", nargs="*", type=float, default=STEPS)
    parser.add_argument("--worst", type=int, default=0, help="print so many of each family's worst worlds")
    asked = parser.parse_args()
    print(f"{'worlds':24}{'':>5}{'auto / plain':>24}{'auto / best fixed':>26}")
    print(f"{'':24}{'':>5}{'worst':>8}{'5 %':>8}{'median':>8}{'worst':>10}{'5 %':>8}{'median':>8}")
    for name, worlds in families(asked.curves, asked.steps).items():
        rows = [(*judged(world, answers_of(world, asked.tokens)), world) for world in worlds]
        figures = "".join(
            f"{min(column):{width}.3f}{np.quantile(column, 0.05):8.3f}{statistics.median(column):8.3f}"
            for column, width in (([row[0] for row in rows], 8), ([row[1] for row in rows], 10))
        )
        print(f"{name:24}{len(rows):5}{figures}", flush=True)
        for plain, best, world in sorted(rows, key=lambda row: row[0])[: asked.worst]:
            print(f"    {plain:.3f} {best:.3f} {world}")
        for plain, best, world in sorted(rows, key=lambda row: row[1])[: asked.worst]:
            print(f"  b {plain:.3f} {best:.3f} {world}")


if __name__ == "__main__":
    main()
