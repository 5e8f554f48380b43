"""The runs of a plan as they end, and the record they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.answer_text import merged
from app.comparisons.plan import Plan, Run
from app.comparisons.record import Outcome, Record
from app.comparisons.setting import Setting
from app.difference import Difference
from app.events import Piece, TurnEnded


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

    def complete(self) -> tuple[int, int]:
        """(prompts that every setting answered, how often all of those did)."""
        places = range(len(self.plan.settings))
        counts = [
            min(len(self._ends.get((prompt, place), ())) for place in places)
            for prompt in range(len(self.plan.prompts))
        ]
        answered = [count for count in counts if count]
        return len(answered), min(answered, default=0)

    def differing(self) -> list[Differing]:
        """Per prompt and drafting setting the first two runs whose tokens differ."""
        found: list[Differing] = []
        prompts, repeats = self.complete()
        for prompt in range(prompts):
            for place, setting in enumerate(self.plan.settings):
                plain = self._ends[prompt, self.plan.settings.index(Setting.plain(setting.temperature))]
                runs = zip(plain[:repeats], self._ends[prompt, place][:repeats], strict=True)
                pairs = ((a.token_ids, b.token_ids) for a, b in runs if a.token_ids != b.token_ids)
                if (pair := next(pairs, None)) is not None:
                    found.append(Differing(prompt, place, *pair))
        return found

    def explained(self, differing: Differing, difference: Difference | None) -> None:
        """Take the engine's answer; without one the place alone is kept."""
        self._differences[differing.prompt, differing.setting] = difference or _unexplained(differing)

    def record(self, facts: Mapping[str, Any], now: datetime | None = None) -> Record | None:
        """What ran, cut to prompts that every setting answered, equally often; None if there is none."""
        prompts, repeats = self.complete()
        if not repeats:
            return None
        for differing in self.differing():
            if (differing.prompt, differing.setting) not in self._differences:
                self.explained(differing, None)
        now = now or datetime.now(UTC)
        return Record(
            name=now.strftime("%Y%m%d-%H%M%S"),
            date=now.isoformat(timespec="seconds"),
            facts=facts,
            prompts=self.plan.prompts[:prompts],
            settings=self.plan.settings,
            outcomes=tuple(
                Outcome(
                    prompt=prompt,
                    setting=place,
                    runs=tuple(end.stats for end in self._ends[prompt, place][:repeats]),
                    pieces=self._pieces[prompt, place],
                    difference=self._differences.get((prompt, place)),
                )
                for prompt in range(prompts)
                for place in range(len(self.plan.settings))
            ),
        )


def _unexplained(differing: Differing) -> Difference:
    both = zip(differing.plain, differing.drafted, strict=False)
    shorter = min(len(differing.plain), len(differing.drafted))
    position = next((place for place, (a, b) in enumerate(both) if a != b), shorter)
    return Difference(position, "", "", None, 0.0)
