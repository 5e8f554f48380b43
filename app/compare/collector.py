"""The runs of a plan as they end, and the record they become. One run at a time, from any engine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.compare.measured import Measured, Outcome
from app.compare.plan import Plan, Run
from app.compare.record import Record
from app.engine.difference import Difference, parting
from app.engine.events import Piece, merged
from mlx_spec.stats import Stats

Place = tuple[int, int]
"""(prompt, setting)"""


@dataclass(frozen=True, slots=True)
class Differing:
    """Two answers to one prompt that are not the same; why, only the engine can tell."""

    prompt: int
    setting: int
    plain: tuple[int, ...]
    drafted: tuple[int, ...]


class RunCollector:
    """Takes counted runs in any order."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._runs: dict[Place, list[tuple[tuple[int, ...], Stats]]] = {}
        self._pieces: dict[Place, tuple[Piece, ...]] = {}
        self._differences: dict[Place, Difference] = {}

    @property
    def count(self) -> int:
        """How many counted runs ended."""
        return sum(map(len, self._runs.values()))

    def doing(self, run: Run) -> str:
        """What a run is, and which of how many."""
        plan, label = self.plan, self.plan.settings[run.setting].label
        if run.kind == "warm-up":
            return f"Warming up: {label}"
        prompt = f"{plan.prompts[run.prompt].id}, " if len(plan.questions) > 1 else ""
        repeat = f", repeat {run.repeat + 1} of {plan.repeats}" if plan.repeats > 1 else ""
        return f"Run {self.count + 1} of {plan.count}: {prompt}{label}{repeat}"

    def add(self, run: Run, tokens: Sequence[int], stats: Stats, pieces: Sequence[Piece] = ()) -> None:
        """Take a run that came to its own end; warm-ups are not counted."""
        if run.kind == "counted":
            place = run.prompt, run.setting
            self._runs.setdefault(place, []).append((tuple(tokens), stats))
            self._pieces.setdefault(place, merged(pieces))

    def differing(self) -> list[Differing]:
        """Per prompt and drafting setting the first two runs whose tokens differ, until `explained`."""
        unexplained = (place for place in self._beside_plain() if place not in self._differences)
        return [parted for place in unexplained if (parted := self._parted(place)) is not None]

    def explained(self, differing: Differing, difference: Difference | None) -> None:
        """Take the engine's answer; without one the place alone is kept."""
        self._differences[differing.prompt, differing.setting] = difference or _unexplained(differing)

    def measured(self) -> list[Measured]:
        """Every prompt and drafting setting as far as it and its plain runs ended and were explained."""
        waiting = {(d.prompt, d.setting) for d in self.differing()}
        found: list[Measured] = []
        for prompt, setting in self._beside_plain():
            if (prompt, setting) not in waiting:
                plain = self.plan.plain_of(setting)
                repeats = min(len(self._runs[prompt, plain]), len(self._runs[prompt, setting]))
                sides = (self._outcome((prompt, s), (prompt, s), repeats) for s in (plain, setting))
                found.append(Measured(self.plan.prompts[prompt], self.plan.settings[setting], *sides))
        return found

    def record(self, facts: Mapping[str, Any], broken_off: str = "") -> Record | None:
        """What ran, cut to what can be judged; None if nothing can.

        Args:
            broken_off: why there are no more runs than these; empty if all of them ran.
        """
        prompts, settings, repeats = self._complete()
        if not repeats:
            return None
        now = datetime.now(UTC)
        return Record(
            name=now.strftime("%Y%m%d-%H%M%S-%f")[:-3],
            date=now.isoformat(timespec="seconds"),
            facts=facts,
            prompts=tuple(self.plan.prompts[place] for place in prompts),
            settings=tuple(self.plan.settings[place] for place in settings),
            outcomes=tuple(
                self._outcome((prompt, setting), (p, s), repeats)
                for p, prompt in enumerate(prompts)
                for s, setting in enumerate(settings)
            ),
            broken_off=f"after {self.count} of {self.plan.count} runs: {broken_off}" if broken_off else "",
        )

    def _beside_plain(self) -> Iterator[Place]:
        """Where a drafting setting and its plain one ran."""
        for prompt, setting in self._runs:
            drafts = self.plan.settings[setting].drafts
            if drafts and (prompt, self.plan.plain_of(setting)) in self._runs:
                yield prompt, setting

    def _parted(self, place: Place) -> Differing | None:
        plain = self._runs[place[0], self.plan.plain_of(place[1])]
        runs = zip(plain, self._runs[place], strict=False)
        return next((Differing(*place, a, b) for (a, _), (b, _) in runs if a != b), None)

    def _difference(self, place: Place) -> Difference | None:
        """As the engine explained it, else its place alone."""
        if place in self._differences or not self.plan.settings[place[1]].drafts:
            return self._differences.get(place)
        return None if (parted := self._parted(place)) is None else _unexplained(parted)

    def _complete(self) -> tuple[Sequence[int], Sequence[int], int]:
        """(prompts, settings, repeats) that can be judged: prompts with all their runs.

        Without one, the settings that answered the first prompt, with their plain ones.
        """
        places, repeats = range(len(self.plan.settings)), self.plan.repeats
        whole = [
            prompt
            for prompt in range(len(self.plan.questions))
            if all(len(self._runs.get((prompt, s), ())) == repeats for s in places)
        ]
        if whole:
            return whole, places, repeats
        drafted = [setting for prompt, setting in self._beside_plain() if prompt == 0]
        ran = sorted({*drafted, *map(self.plan.plain_of, drafted)})
        return (0,), ran, min((len(self._runs[0, setting]) for setting in ran), default=0)

    def _outcome(self, place: Place, placed: Place, repeats: int) -> Outcome:
        """The first runs at a place of the plan, as the outcome at a place of a record."""
        stats = tuple(stats for _, stats in self._runs[place][:repeats])
        return Outcome(*placed, stats, self._pieces[place], self._difference(place))


def _unexplained(differing: Differing) -> Difference:
    return Difference(parting(differing.plain, differing.drafted), "", "", None, 0.0)
