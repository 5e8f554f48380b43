"""A finished comparison: what ran, where, and every run's numbers. What is kept and exported."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, get_args

from app.compare.bench.comparison import Comparison, by_category, compare
from app.compare.bench.measured import Measured
from app.compare.bench.prompts import BenchPrompt
from app.compare.setting import Setting
from app.engine.difference import Difference
from app.engine.events import Mark, Piece
from app.engine.pieces import text_of
from mlx_spec.stats import Stats, summarise
from mlx_spec.types import DrafterName

VERSION = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """One prompt answered with one setting."""

    prompt: int
    setting: int
    """Places in the record's lists."""
    runs: tuple[Stats, ...]
    """One per repeat."""
    pieces: tuple[Piece, ...]
    """The text of the first run, marked."""
    difference: Difference | None
    """Where a run first left the text of the plain run beside it; None if none did."""

    @property
    def text(self) -> str:
        return text_of(self.pieces)


@dataclass(frozen=True, slots=True)
class Record:
    """Runs of some prompts with some settings, as many of each."""

    name: str
    """Unique; also the file's name."""
    date: str
    """ISO 8601, UTC."""
    facts: Mapping[str, Any]
    """Pair, device, versions, and the options that all runs shared."""
    prompts: tuple[BenchPrompt, ...]
    settings: tuple[Setting, ...]
    outcomes: tuple[Outcome, ...]
    broken_off: str = ""
    """After how many runs it ended before its last one, and why; empty if it ran to its end."""

    @property
    def when(self) -> str:
        """The date to the minute, by the clock of the place where it is read."""
        return f"{datetime.fromisoformat(self.date).astimezone():%Y-%m-%d %H:%M}"

    @property
    def repeats(self) -> int:
        return len(self.outcomes[0].runs)

    @property
    def drafting(self) -> tuple[int, ...]:
        """Places of the settings that draft."""
        return tuple(place for place, setting in enumerate(self.settings) if setting.drafts)

    @property
    def has_categories(self) -> bool:
        """The prompts are of more than one."""
        return len({prompt.category for prompt in self.prompts}) > 1

    def outcome(self, prompt: int, setting: int) -> Outcome:
        return next(o for o in self.outcomes if (o.prompt, o.setting) == (prompt, setting))

    def plain_of(self, setting: int) -> int:
        """Place of the plain setting at the same temperature."""
        return self.settings.index(Setting.plain(self.settings[setting].temperature))

    def measured(self, setting: int) -> list[Measured]:
        """A drafting setting's runs beside the plain ones, prompt by prompt."""
        plain = self.plain_of(setting)
        return [
            Measured(
                prompt=prompt,
                plain=self.outcome(place, plain).runs,
                drafted=self.outcome(place, setting).runs,
                tokens=self.outcome(place, plain).runs[0].tokens,
                difference=self.outcome(place, setting).difference,
            )
            for place, prompt in enumerate(self.prompts)
        ]

    def comparison(self, setting: int) -> Comparison:
        """What a drafting setting brings over all prompts."""
        return compare(self.measured(setting))

    @property
    def best_ratio(self) -> float:
        """Of the setting that drafting brings most with."""
        return max(self.comparison(place).ratio for place in self.drafting)

    def categories(self, setting: int) -> dict[str, Comparison]:
        """The same by the prompts' categories."""
        return by_category(self.measured(setting))

    def speed(self, setting: int) -> float:
        """Tokens per second of any setting, folded as `Comparison` does."""
        if self.settings[setting].drafts:
            return self.comparison(setting).drafted_tps
        runs = [self.outcome(place, setting).runs for place in range(len(self.prompts))]
        return compare(
            [Measured(p, r, r, 0, None) for p, r in zip(self.prompts, runs, strict=True)]
        ).plain_tps

    def as_json(self) -> dict[str, Any]:
        """Everything, with each drafting setting's verdict beside it."""
        return {
            "format": "mlx-spec comparison",
            "version": VERSION,
            "name": self.name,
            "date": self.date,
            "broken_off": self.broken_off,
            **self.facts,
            "prompts": [asdict(prompt) for prompt in self.prompts],
            "settings": [asdict(setting) for setting in self.settings],
            "outcomes": [
                {
                    "prompt": o.prompt,
                    "setting": o.setting,
                    "runs": [asdict(stats) for stats in o.runs],
                    "pieces": [[piece.mark, piece.text] for piece in o.pieces],
                    "difference": asdict(o.difference) if o.difference else None,
                }
                for o in self.outcomes
            ],
            "verdicts": {
                self.settings[place].label: self.comparison(place).as_json() for place in self.drafting
            },
        }


OWN = ("format", "version", "name", "date", "broken_off", "prompts", "settings", "outcomes", "verdicts")


def record_from_json(value: Any) -> Record:
    """Read what `as_json` wrote.

    Raises:
        ValueError: it is something else, or incomplete.
    """
    try:
        if value["format"] != "mlx-spec comparison" or value["version"] != VERSION:
            raise ValueError("not a comparison of this version")
        record = Record(
            name=str(value["name"]),
            date=str(value["date"]),
            facts={key: fact for key, fact in value.items() if key not in OWN},
            prompts=tuple(BenchPrompt(**prompt) for prompt in value["prompts"]),
            settings=tuple(_setting(setting) for setting in value["settings"]),
            outcomes=tuple(_outcome(outcome) for outcome in value["outcomes"]),
            broken_off=str(value.get("broken_off", "")),
        )
        datetime.fromisoformat(record.date)
        for place in record.drafting:
            record.comparison(place)
        return record
    except (LookupError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"incomplete: {type(error).__name__} {error}") from error


def _setting(value: Mapping[str, Any]) -> Setting:
    if value["drafter"] not in get_args(DrafterName):
        raise ValueError(f"no drafter {value['drafter']}")
    return Setting(**value)


def _outcome(value: Mapping[str, Any]) -> Outcome:
    difference = value["difference"]
    return Outcome(
        prompt=int(value["prompt"]),
        setting=int(value["setting"]),
        runs=tuple(_stats(run) for run in value["runs"]),
        pieces=tuple(_piece(*piece) for piece in value["pieces"]),
        difference=Difference(**difference) if difference else None,
    )


def _piece(mark: str, text: str) -> Piece:
    return Piece(text, next(known for known in get_args(Mark) if known == mark))


def _stats(value: Mapping[str, Any]) -> Stats:
    """Figures that a version did not have yet, or no longer has, do not make a record unreadable."""
    known = {field.name for field in fields(Stats)} & set(value)
    found = {name: tuple(value[name]) if isinstance(value[name], list) else value[name] for name in known}
    return replace(summarise(()), **found)
