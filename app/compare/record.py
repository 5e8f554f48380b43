"""A finished comparison, as saved and exported: what ran, where, and every run's numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.compare.comparison import Comparison, Measured, by_category, compare, mean_speed
from app.compare.plan import Setting, plain_of
from app.compare.prompts import BenchPrompt
from app.engine.difference import Difference
from app.engine.events import Piece
from app.settings.options import AnswerOptions
from mlx_spec.stats import Stats, summarise

FORMAT, VERSION = "mlx-spec comparison", 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """One prompt answered with one setting; both are indexes into the record's lists."""

    prompt: int
    setting: int
    runs: tuple[Stats, ...]
    pieces: tuple[Piece, ...]
    """The text of the first run, marked; empty where it ran without a screen."""
    difference: Difference | None
    """Where a drafted run first differs from the plain run of the same repeat; None if none does."""


@dataclass(frozen=True, slots=True)
class Record:
    """Every prompt answered with every setting, equally often."""

    name: str
    """Unique; also the file's name."""
    date: str
    facts: Mapping[str, Any]
    """Pair, device, versions, and the options that all runs shared."""
    prompts: tuple[BenchPrompt, ...]
    settings: tuple[Setting, ...]
    outcomes: tuple[Outcome, ...]
    broken_off: str = ""
    """After how many runs it was stopped, and why; empty if it finished."""

    @property
    def when(self) -> str:
        """The date to the minute, in the reader's local time."""
        return f"{datetime.fromisoformat(self.date).astimezone():%Y-%m-%d %H:%M}"

    @property
    def repeats(self) -> int:
        return len(self.outcomes[0].runs)

    @property
    def drafting(self) -> tuple[int, ...]:
        return tuple(place for place, setting in enumerate(self.settings) if setting.drafts)

    @property
    def has_categories(self) -> bool:
        return len({prompt.category for prompt in self.prompts}) > 1

    def outcome(self, prompt: int, setting: int) -> Outcome:
        return next(o for o in self.outcomes if (o.prompt, o.setting) == (prompt, setting))

    def measured(self, setting: int) -> list[Measured]:
        """A drafting setting's runs beside the plain ones, prompt by prompt."""
        plain, found = plain_of(self.settings, setting), []
        for place, prompt in enumerate(self.prompts):
            drafted = self.outcome(place, setting)
            runs = self.outcome(place, plain).runs, drafted.runs
            found.append(Measured(prompt, self.settings[setting], *runs, drafted.difference))
        return found

    def comparison(self, setting: int) -> Comparison:
        return compare(self.measured(setting))

    def by_ratio(self) -> list[int]:
        """Drafting settings, the fastest against plain decoding first; untimed ones only if all are."""
        found = {place: self.comparison(place) for place in self.drafting}
        timed = [place for place, one in found.items() if one.plain_tps] or list(found)
        return sorted(timed, key=lambda place: -found[place].ratio)

    def categories(self, setting: int) -> dict[str, Comparison]:
        return by_category(self.measured(setting))

    def speed(self, setting: int) -> float:
        """Tokens per second of any setting, averaged as in `Comparison`."""
        return mean_speed([self.outcome(place, setting).runs for place in range(len(self.prompts))])

    def as_json(self) -> dict[str, Any]:
        value = asdict(self)
        facts = value.pop("facts")
        for outcome in value["outcomes"]:
            outcome["pieces"] = [[piece["mark"], piece["text"]] for piece in outcome["pieces"]]
        verdicts = {self.settings[place].label: self.comparison(place).as_json() for place in self.drafting}
        return {"format": FORMAT, "version": VERSION, **facts, **value, "verdicts": verdicts}


def record_from_json(value: Any) -> Record:
    """Read what `as_json` wrote; ValueError where it is something else, or incomplete."""
    from pydantic import TypeAdapter

    try:
        if (value["format"], value["version"]) != (FORMAT, VERSION):
            raise ValueError("not a comparison of this version")
        outcomes = [
            {
                **outcome,
                # Records of other versions may lack some figures or have more.
                "runs": [{**asdict(summarise(())), **run} for run in outcome["runs"]],
                "pieces": [{"mark": mark, "text": text} for mark, text in outcome["pieces"]],
            }
            for outcome in value["outcomes"]
        ]
        own = {"format", "version", "verdicts", *Record.__slots__}
        facts = {key: fact for key, fact in value.items() if key not in own}
        record = TypeAdapter(Record).validate_python({**value, "outcomes": outcomes, "facts": facts})
        datetime.fromisoformat(record.date)
        # What lists and pictures read: a LookupError where it is missing.
        _ = facts["pair"]["name"], facts["device"], facts["versions"], facts["options"]["verify"]
        _ = record.by_ratio()[0]
        return record
    except (LookupError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"incomplete: {type(error).__name__} {error}") from error


def shared_options(options: AnswerOptions) -> dict[str, Any]:
    """The options that no setting of a comparison varies."""
    varied = ("drafter", "draft_length", "temperature", "stop_tokens")
    return {name: value for name, value in asdict(options).items() if name not in varied}
