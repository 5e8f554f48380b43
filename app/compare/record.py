"""A finished comparison: what ran, where, and every run's numbers. What is kept and exported."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.compare.comparison import Comparison, by_category, compare, mean_speed
from app.compare.measured import Measured, Outcome
from app.compare.prompts import BenchPrompt
from app.compare.setting import Setting
from mlx_spec.stats import summarise
from mlx_spec.types import Options

FORMAT, VERSION = "mlx-spec comparison", 1


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
        sides = self.plain_of(setting), setting
        return [
            Measured(prompt, self.settings[setting], *[self.outcome(place, side) for side in sides])
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
        return mean_speed([self.outcome(place, setting).runs for place in range(len(self.prompts))])

    def as_json(self) -> dict[str, Any]:
        """Everything, with each drafting setting's verdict beside it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "date": self.date,
            "broken_off": self.broken_off,
            **self.facts,
            "prompts": [asdict(prompt) for prompt in self.prompts],
            "settings": [asdict(setting) for setting in self.settings],
            "outcomes": [
                {**asdict(o), "pieces": [[piece.mark, piece.text] for piece in o.pieces]}
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
    from pydantic import TypeAdapter

    try:
        if (value["format"], value["version"]) != (FORMAT, VERSION):
            raise ValueError("not a comparison of this version")
        outcomes = [
            {
                **outcome,
                # Figures that a version did not have yet, or no longer has, cost no record.
                "runs": [{**asdict(summarise(())), **run} for run in outcome["runs"]],
                "pieces": [{"mark": mark, "text": text} for mark, text in outcome["pieces"]],
            }
            for outcome in value["outcomes"]
        ]
        facts = {key: fact for key, fact in value.items() if key not in OWN}
        record = TypeAdapter(Record).validate_python({**value, "outcomes": outcomes, "facts": facts})
        datetime.fromisoformat(record.date)
        for place in record.drafting:
            record.comparison(place)
        return record
    except (LookupError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"incomplete: {type(error).__name__} {error}") from error


def shared_options(options: Options) -> dict[str, Any]:
    """The options that no setting of a comparison varies."""
    varied = ("drafter", "draft_length", "temperature", "stop_tokens")
    return {name: value for name, value in asdict(options).items() if name not in varied}
