"""Evaluates draft planning in simulated time: real answers, assumed costs of rounds.

`python -m benchmarks.policy_on_answers [--target X --draft Y]`. Each answer is generated once with draft
length 8, to find which of its tokens the draft model predicts; planners are then simulated on these answers.
The output depends only on the planner and the pair, and is the same every time.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.shell.runtime import prepare
from benchmarks.peers.prompts import read_prompts
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.lookup import Copier
from mlx_spec.drafters.model import CANDIDATE
from mlx_spec.policy.acceptance import LEVELS, Acceptance
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.policy.policy import Fixed, Policy
from mlx_spec.types import MAX_DRAFT_LENGTH, Options, Round

PASSES = {1: 1.0, 2: 1.46, 3: 1.58, 4: 1.63, 5: 1.85, 9: 2.15, 16: 2.49, 24: 2.92, 32: 3.52}
"""Passes of the target by rows, in plain rounds: medians over 30 calibrations of the built-in pair on 2 cores
with OpenBLAS."""
STEP, READING = 0.135, 0.67
"""Draft step and draft prefill, in plain rounds."""
NOISE, ORDERS = 0.08, 3
TOKENS = 96
"""Longest answer."""
TEMPERATURES = (0.0, 0.8)


@dataclass(frozen=True, slots=True)
class Written:
    """An answer, and for each of its tokens, whether the draft model predicts it."""

    category: str
    prompt: list[int]
    text: list[int]
    right: list[bool]


def write_answers(target: str | None, draft: str | None, temperature: float) -> Iterator[Written]:
    from benchmarks.peers.ours import OurSide

    side = OurSide(target, draft, tune=False)
    for prompt in read_prompts():
        ids, stops = side.encode(prompt.messages)
        side.pair.engine.forget()
        options = Options(max_tokens=TOKENS, stop_tokens=frozenset(stops), drafter="model", draft_length=8,
                          temperature=temperature, seed=1)  # fmt: skip
        text: list[int] = []
        right: list[bool] = []
        for read in side.pair.engine.generate(ids, options):
            text += read.tokens
            # The token after 8 accepted ones was not drafted: assumed right, as its neighbours.
            right += [True] * read.accepted + [read.accepted == len(read.drafted) > 0]
        yield Written(prompt.category, list(ids), text, right[: len(text)])


def takes(drafter: str, k: int) -> float:
    """Time of a round with draft length `k`, in plain rounds."""
    low, high = max(m for m in PASSES if m <= k + 1), min(m for m in PASSES if m >= k + 1)
    share = (k + 1 - low) / (high - low) if high > low else 0.0
    return PASSES[low] + share * (PASSES[high] - PASSES[low]) + (STEP * k if drafter == "model" else 0.0)


def costs() -> Costs:
    known = {
        name: {k: RoundCost(takes(name, k)) for k in range(1, most + 1)}
        for name, most in (("model", CANDIDATE.limit), ("lookup", MAX_DRAFT_LENGTH))
    }
    return Costs(RoundCost(1.0), known)


def play(planner: Policy, answer: Written, rng: random.Random) -> float:
    """The answer's time after its first token, in plain rounds."""
    lookup, text, at = Copier(()), answer.text, 1
    lookup.read(answer.prompt + text[:1])
    planner.begin([id(answer)])
    planner.count({id(answer): Round((), 0, (text[0],), "none", 1.0)}, NO_CANDIDATE, len(answer.prompt))
    spent, rested, unread, before = 0.0, 1, len(answer.prompt), "none"
    while at < len(text):
        model = replace(CANDIDATE, shadows=rested, behind=unread)
        candidates = sorted(
            filter(None, (lookup.candidate(), model)), key=lambda candidate: candidate.prior, reverse=True
        )
        candidate, k = planner.choose(candidates, len(answer.prompt) + at)
        if len(text) == TOKENS:  # an answer cut at the limit: the loop knows where it ends
            k = min(k, TOKENS - at)
        drafted: Sequence[int] = ()
        accepted = 0
        if k and candidate.drafter == "lookup":
            drafted = lookup.copy(k)
            while (
                accepted < len(drafted)
                and at + accepted < len(text)
                and drafted[accepted] == text[at + accepted]
            ):
                accepted += 1
        elif k:
            drafted = [0] * k
            while accepted < k and at + accepted < len(text) and answer.right[at + accepted]:
                accepted += 1
        used = candidate.drafter == "model"
        took = takes(candidate.drafter, len(drafted)) + (STEP if used and not drafted else 0.0)
        took = took * max(0.7, rng.gauss(1, NOISE)) + (READING if used and unread else 0.0)
        if used and not drafted:
            planner.shadow(id(answer), candidate, answer.right[at - rested : at])
        gained = text[at : at + accepted + 1]
        if at + len(gained) == len(text):
            drafted = drafted[: len(gained)]  # as the loop does: drafts beyond the end are not rejections
        name = candidate.drafter if drafted else "none"
        steady = name == before and not (used and (unread or not drafted))
        before = name
        read = Round(tuple(drafted), accepted, tuple(gained), name, took, steady=steady)
        planner.count({id(answer): read}, candidate, at)
        at += len(gained)
        for kind, right in lookup.read(answer.prompt + text[:at]):
            if name != "lookup":
                planner.shadow(id(answer), kind, right)
        rested, unread = len(gained) if used else rested + len(gained), 0 if used else unread
        spent += took
    return spent


class KnownAcceptance(Acceptance):
    """Acceptance at a known rate, which never changes."""

    def __init__(self, rate: float):
        super().__init__()
        place = float(np.interp(rate, LEVELS, np.arange(len(LEVELS))))
        self.usual = self._last = np.maximum(0.0, 1 - abs(np.arange(len(LEVELS)) - place)) + 1e-9

    def begin(self, texts: Collection[int]) -> None:
        pass

    def idle(self, tokens: int) -> None:
        pass

    def _learn(self, text: int, likelihood: np.ndarray) -> None:
        pass


def informed(answer: Written) -> Controller:
    """A controller that knows each drafter's acceptance rate in this answer."""
    lookup, right = Copier(()), defaultdict[str, list[bool]](list)
    lookup.read(answer.prompt)
    for candidate, was_right in lookup.read(answer.prompt + answer.text):
        right[candidate.kind] += was_right
    right["model"] = answer.right[1:]
    controller = Controller(costs())
    controller.acceptance = {kind: KnownAcceptance(sum(each) / len(each)) for kind, each in right.items()}
    return controller


def informed_gains(answers: Sequence[Written]) -> dict[str, float]:
    """`gains` of `informed` controllers."""
    return _by_category((a, play(informed(a), a, random.Random(seed))) for seed in range(8) for a in answers)


def least_time(answer: Written) -> float:
    """A lower bound of `play`: the answer's time for a planner that knows the answer.

    The draft model's prefill is left out.
    """
    lookup, text = Copier(()), answer.text
    copies: list[int] = []
    for at in range(len(text)):
        lookup.read(answer.prompt + text[:at])
        copied = lookup.copy(MAX_DRAFT_LENGTH)
        copies.append(_accepted([a == b for a, b in zip(copied, text[at:], strict=False)]))
    least = [0.0] * (len(text) + 1)
    for at in range(len(text) - 1, 0, -1):
        found = [1 + least[at + 1]]
        for drafter, most in (
            ("model", min(CANDIDATE.limit, _accepted(answer.right[at:]))),
            ("lookup", copies[at]),
        ):
            ends = [(k, min(at + k + 1, len(text))) for k in range(1, most + 1)]
            found += [takes(drafter, k) + least[end] for k, end in ends]
        least[at] = min(found)
    return least[1]


def _accepted(right: Sequence[bool]) -> int:
    return next((place for place, is_right in enumerate(right) if not is_right), len(right))


def at_most(answers: Sequence[Written]) -> dict[str, float]:
    """An upper bound of `gains`: planners that know every answer."""
    return _by_category((answer, least_time(answer)) for answer in answers)


def gains(planners: Sequence[Policy], answers: Sequence[Written]) -> dict[str, float]:
    """Plain time over planned time by category; each planner gets the answers in its own order."""
    return _by_category(
        (answer, play(planner, answer, rng))
        for planner, rng in zip(planners, map(random.Random, range(len(planners))), strict=True)
        for answer in rng.sample(answers, len(answers)) * 3
    )


def _by_category(times: Iterable[tuple[Written, float]]) -> dict[str, float]:
    """Plain time over the answers' times."""
    plain: dict[str, float] = defaultdict(float)
    spent: dict[str, float] = defaultdict(float)
    for answer, took in times:
        for group in (answer.category, "all"):
            plain[group] += len(answer.text) - 1
            spent[group] += took
    return {group: plain[group] / spent[group] for group in plain}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy_on_answers", description=__doc__)
    parser.add_argument("--target")
    parser.add_argument("--draft")
    asked = parser.parse_args()
    prepare()
    found = {}
    for temperature in TEMPERATURES:
        answers = [a for a in write_answers(asked.target, asked.draft, temperature) if len(a.text) > 1]
        auto = gains([Controller(costs()) for _ in range(ORDERS)], answers)
        fixed = [gains([Fixed(k)], answers) for k in range(CANDIDATE.limit + 1)]
        most, known_rates = at_most(answers), informed_gains(answers)
        rows = {}
        for group in sorted(auto):
            best = max(range(len(fixed)), key=lambda k: fixed[k][group])
            figures = {
                "auto": auto[group],
                "best_fixed": fixed[best][group],
                "length": best,
                "known_rates": known_rates[group],
                "known_answers": most[group],
            }
            rows[group] = {name: round(value, 2) for name, value in figures.items()}
            print(f"T={temperature:g}", group, rows[group])
        found[f"{temperature:g}"] = rows
    print(json.dumps(found))


if __name__ == "__main__":
    main()
