"""The runs of a plan as they end, and the record they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.compare.plan import Plan, Run
from app.compare.record import Outcome, Record
from app.compare.setting import Setting
from app.engine.difference import Difference, parting
from app.engine.events import Piece, TurnEnded
from app.engine.pieces import merged


@dataclass(frozen=True, slots=True)
class Differing:
    """Two answers to one prompt that are not the same; why, only the engine can tell."""

    prompt: int
    setting: int
    plain: tuple[int, ...]
    drafted: tuple[int, ...]


class Gathering:
    """Takes counted runs in any order."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._ends: dict[tuple[int, int], list[TurnEnded]] = {}
        self._pieces: dict[tuple[int, int], tuple[Piece, ...]] = {}
        self._differences: dict[tuple[int, int], Difference | None] = {}

    @property
    def count(self) -> int:
        """How many runs ended."""
        return sum(map(len, self._ends.values()))

    def add(self, run: Run, ended: TurnEnded, pieces: Sequence[Piece]) -> None:
        """Take a run that came to its own end."""
        place = run.prompt, run.setting
        self._ends.setdefault(place, []).append(ended)
        self._pieces.setdefault(place, merged(pieces))

    def _complete(self) -> tuple[int, tuple[int, ...], int]:
        """(prompts, settings, repeats) that can be judged: each prompt by each setting equally often.

        Where not even the first prompt was answered by all, those that did answer it, with their plain
        ones, are what there is.
        """
        places = range(len(self.plan.settings))
        counts = [[len(self._ends.get((p, s), ())) for s in places] for p in range(len(self.plan.prompts))]
        answered = [min(count) for count in counts if all(count)]
        if answered:
            return len(answered), tuple(places), min(answered)
        ran = [place for place in places if counts[0][place] and counts[0][self._plain_of(place)]]
        if not any(self.plan.settings[place].drafts for place in ran):
            return 0, (), 0
        return 1, tuple(ran), min(counts[0][place] for place in ran)

    def _plain_of(self, place: int) -> int:
        return self.plan.settings.index(Setting.plain(self.plan.settings[place].temperature))

    def differing(self) -> list[Differing]:
        """Per prompt and drafting setting the first two runs whose tokens differ."""
        found: list[Differing] = []
        prompts, settings, repeats = self._complete()
        for prompt in range(prompts):
            for place in settings:
                plain = self._ends[prompt, self._plain_of(place)]
                runs = zip(plain[:repeats], self._ends[prompt, place][:repeats], strict=True)
                pairs = ((a.token_ids, b.token_ids) for a, b in runs if a.token_ids != b.token_ids)
                if (pair := next(pairs, None)) is not None:
                    found.append(Differing(prompt, place, *pair))
        return found

    def explained(self, differing: Differing, difference: Difference | None) -> None:
        """Take the engine's answer; without one the place alone is kept."""
        self._differences[differing.prompt, differing.setting] = difference or _unexplained(differing)

    def record(self, facts: Mapping[str, Any], broken_off: str = "") -> Record | None:
        """What ran, cut to what can be judged; None if nothing can.

        Args:
            broken_off: why there are no more runs than these; empty if all of them ran.
        """
        prompts, settings, repeats = self._complete()
        if not repeats:
            return None
        for differing in self.differing():
            if (differing.prompt, differing.setting) not in self._differences:
                self.explained(differing, None)
        now = datetime.now(UTC)
        return Record(
            name=now.strftime("%Y%m%d-%H%M%S-%f")[:-3],
            date=now.isoformat(timespec="seconds"),
            facts=facts,
            prompts=self.plan.prompts[:prompts],
            settings=tuple(self.plan.settings[place] for place in settings),
            outcomes=tuple(
                Outcome(
                    prompt=prompt,
                    setting=number,
                    runs=tuple(end.stats for end in self._ends[prompt, place][:repeats]),
                    pieces=self._pieces[prompt, place],
                    difference=self._differences.get((prompt, place)),
                )
                for prompt in range(prompts)
                for number, place in enumerate(settings)
            ),
            broken_off=f"after {self.count} of {self.plan.count} runs: {broken_off}" if broken_off else "",
        )


def _unexplained(differing: Differing) -> Difference:
    return Difference(parting(differing.plain, differing.drafted), "", "", None, 0.0)
