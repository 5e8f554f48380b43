"""Collects a plan's finished runs and turns them into a record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from app.compare.comparison import Measured
from app.compare.plan import Plan, Run, plain_of
from app.compare.record import Outcome, Record
from app.engine.difference import Difference, parting
from app.engine.events import Piece, merged
from mlx_spec.stats import Stats

Place = tuple[int, int]  # (prompt, setting)


class Answer(NamedTuple):
    tokens: tuple[int, ...]
    stats: Stats
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Differing:
    """Two different answers to one prompt; only the engine can explain the difference."""

    place: Place
    plain: tuple[int, ...]
    drafted: tuple[int, ...]

    @property
    def unexplained(self) -> Difference:
        return Difference(parting(self.plain, self.drafted), "", "", None, 0.0)


class RunCollector:
    """Accepts runs in any order."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._answers: dict[Place, list[Answer]] = {}
        self._explained: dict[Place, Difference] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._answers.values()))

    def doing(self, run: Run) -> str:
        plan, label = self.plan, self.plan.settings[run.setting].label
        if run.warm_up:
            return f"Warming up: {label}"
        prompt = f"{plan.questions[run.prompt].prompt.id}, " if len(plan.questions) > 1 else ""
        repeat = f", repeat {run.repeat + 1} of {plan.repeats}" if plan.repeats > 1 else ""
        return f"Run {self.count + 1} of {plan.count}: {prompt}{label}{repeat}"

    def add(self, run: Run, tokens: Sequence[int], stats: Stats, pieces: Sequence[Piece] = ()) -> None:
        """Add a run that was not stopped; warm-ups are ignored."""
        if not run.warm_up:
            answer = Answer(tuple(tokens), stats, merged(pieces))
            self._answers.setdefault((run.prompt, run.setting), []).append(answer)

    def differing(self) -> Iterator[Differing]:
        """Per prompt and drafting setting, the first two answers that differ, until explained."""
        for place, plain, drafted in self._beside_plain():
            runs = zip(plain, drafted, strict=False)
            parted = next(((a.tokens, b.tokens) for a, b in runs if a.tokens != b.tokens), None)
            if parted and place not in self._explained:
                yield Differing(place, *parted)

    def explain(self, differing: Differing, difference: Difference | None) -> None:
        """Store the engine's explanation; without one, only the position."""
        self._explained[differing.place] = difference or differing.unexplained

    def measured(self) -> list[Measured]:
        """The finished runs of each prompt and drafting setting, except where a difference is unexplained."""
        waiting = {differing.place for differing in self.differing()}
        found: list[Measured] = []
        for place, plain, drafted in self._beside_plain():
            if place not in waiting:
                repeats = min(len(plain), len(drafted))
                prompt, setting = self.plan.questions[place[0]].prompt, self.plan.settings[place[1]]
                sides = _stats(plain[:repeats]), _stats(drafted[:repeats])
                found.append(Measured(prompt, setting, *sides, self._explained.get(place)))
        return found

    def record(self, facts: Mapping[str, Any], broken_off: str = "") -> Record | None:
        """The runs that can be judged, None if there are none. `broken_off`: why the plan was stopped."""
        prompts, settings, repeats = self._complete()
        if not repeats:
            return None
        unexplained = {differing.place: differing.unexplained for differing in self.differing()}
        differences, outcomes = unexplained | self._explained, []
        for p, prompt in enumerate(prompts):
            for s, setting in enumerate(settings):
                place = prompt, setting
                answers = self._answers[place][:repeats]
                outcomes.append(Outcome(p, s, _stats(answers), answers[0].pieces, differences.get(place)))
        now = datetime.now(UTC)
        return Record(
            name=now.strftime("%Y%m%d-%H%M%S-%f")[:-3],
            date=now.isoformat(timespec="seconds"),
            facts=facts,
            prompts=tuple(self.plan.questions[place].prompt for place in prompts),
            settings=tuple(self.plan.settings[place] for place in settings),
            outcomes=tuple(outcomes),
            broken_off=f"after {self.count} of {self.plan.count} runs: {broken_off}" if broken_off else "",
        )

    def _beside_plain(self) -> Iterator[tuple[Place, list[Answer], list[Answer]]]:
        for (prompt, setting), drafted in self._answers.items():
            plain = self._answers.get((prompt, plain_of(self.plan.settings, setting)))
            if plain and self.plan.settings[setting].drafts:
                yield (prompt, setting), plain, drafted

    def _complete(self) -> tuple[Sequence[int], Sequence[int], int]:
        """(prompts, settings, repeats) that can be judged: prompts with all their runs, or all prompts with
        the settings that were complete before longer ones were added.

        Without any, the first prompt, with the settings that answered it and their plain ones.
        """
        places, repeats = range(len(self.plan.settings)), self.plan.repeats
        prompts = range(len(self.plan.questions))
        counts = {place: len(answers) for place, answers in self._answers.items()}
        whole = [p for p in prompts if all(counts.get((p, s)) == repeats for s in places)]
        if self.plan.complete and len(whole) < len(prompts):
            return prompts, places[: self.plan.complete], repeats
        if whole:
            return whole, places, repeats
        drafted = [place[1] for place, _, _ in self._beside_plain() if place[0] == 0]
        ran = sorted({*drafted, *(plain_of(self.plan.settings, setting) for setting in drafted)})
        return (0,), ran, min((counts[0, setting] for setting in ran), default=0)


def _stats(answers: Sequence[Answer]) -> tuple[Stats, ...]:
    return tuple(answer.stats for answer in answers)
