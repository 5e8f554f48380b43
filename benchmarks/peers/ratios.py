"""Speeds, ratios with their spread and the best fixed lengths, computed from records. Pure functions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.peers.answering import decoding_pace
from benchmarks.peers.records import Record
from benchmarks.peers.sides import Side

PAIRS = (
    ("ours auto", "mlx-lm plain"),
    ("ours auto", "ours best"),
    ("ours auto", "mlx-lm best"),
    ("ours auto", "mlx-lm best of all"),
    ("ours auto", "mlx-lm 2"),
    ("ours auto", "ours plain"),
    ("ours auto", "transformers plain"),
    ("ours auto", "transformers assistant"),
    ("ours auto", "transformers lookup"),
    ("transformers assistant", "transformers plain"),
    ("ours plain", "mlx-lm plain"),
    ("ours 3", "ours plain"),
    ("ours 3", "mlx-lm 3"),
    ("ours auto, other draft", "mlx-lm plain"),
    ("ours auto, other draft", "ours plain"),
    ("ours 3, other draft", "ours plain"),
)
"""(side, the side it is compared with)"""

NEVER_SLOWER = 0.97
"""The least ratio that counts as not slower; the difference to 1 is noise."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much faster one side was than another on one group of prompts."""

    ours: str
    peer: str
    group: str
    temperature: float
    ratio: float
    """Of tokens per second, prefill included; median of the ratios within each repeat."""
    spread: tuple[float, float]
    """The lowest and highest ratio over the repeats."""
    decode_ratio: float
    """Median ratio without the first tokens and the time to them."""
    wanted: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the wanted ratio is reached; None if there is none."""
        return None if self.wanted is None else self.ratio >= self.wanted


@dataclass(frozen=True, slots=True)
class Speed:
    """One side on one group of prompts."""

    side: str
    group: str
    temperature: float
    tokens_per_second: float
    """Prefill included; the median over the repeats."""
    spread: tuple[float, float]
    decode_tokens_per_second: float
    tokens_per_pass: float
    acceptance_rate: float | None
    """Accepted / drafted; None if the side does not count them."""


def wanted(ours: str, peer: str, group: str, temperature: float) -> float | None:
    """The ratio that this project aims for; None if there is none."""
    greedy = temperature == 0
    match (ours, peer, group):
        case ("ours auto", "mlx-lm plain", "in domain"):
            return 2.0 if greedy else 1.5
        case ("ours auto", "mlx-lm plain", "copying" | "repeating"):
            return 3.0
        case ("ours auto", "mlx-lm plain", _):
            return NEVER_SLOWER
        case ("ours auto", "ours best", _):
            return 0.95
        case ("ours auto", "mlx-lm best", _) | ("ours auto", "mlx-lm best of all", "all"):
            return 1.1 if greedy else 1.35
        case ("ours auto, other draft", "mlx-lm plain" | "ours plain", _):
            return NEVER_SLOWER
        case ("ours plain", "mlx-lm plain", "in domain"):
            return NEVER_SLOWER
        case ("ours 3", "mlx-lm 3", "in domain"):
            return 1.0 if greedy else 1.2
        case ("ours 3", "ours plain", "in domain") if greedy:
            return 1.5
    return None


Pace = tuple[float, float]
"""Tokens per second, with and without the first tokens and the time to them."""


class Paces:
    """Speeds of every side by repeat, on groups of categories."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._by: Mapping[tuple[str, float, str], list[Record]] = defaultdict(list)
        for record in records:
            self._by[record.side, record.temperature, record.category].append(record)
        self.temperatures = sorted({record.temperature for record in records})
        self.sides = list(dict.fromkeys(record.side for record in records))

    def records(self, side: str, temperature: float, categories: Sequence[str]) -> list[Record]:
        """The records of a side; empty unless it was measured on all of the categories."""
        found = [self._by.get((side, temperature, category), []) for category in categories]
        return [record for records in found for record in records] if all(found) else []

    def of(self, side: str, temperature: float, categories: Sequence[str]) -> dict[int, Pace]:
        """By repeat, all tokens over all time."""
        by_repeat: dict[int, list[Record]] = defaultdict(list)
        for record in self.records(side, temperature, categories):
            by_repeat[record.repeat].append(record)
        return {repeat: _pace(records) for repeat, records in by_repeat.items()}

    def ratio(
        self, ours: str, peer: str, group: str, categories: Sequence[str], temperature: float
    ) -> Ratio | None:
        """None if one of the two was not measured."""
        mine, theirs = self.of(ours, temperature, categories), self.of(peer, temperature, categories)
        both = sorted(mine.keys() & theirs.keys())
        if not both:
            return None
        ratios = [mine[repeat][0] / theirs[repeat][0] for repeat in both]
        decoding = [mine[r][1] / theirs[r][1] for r in both if mine[r][1] and theirs[r][1]]
        return Ratio(
            ours=ours,
            peer=peer,
            group=group,
            temperature=temperature,
            ratio=median(ratios),
            spread=(min(ratios), max(ratios)),
            decode_ratio=median(decoding or ratios),
            wanted=wanted(ours, peer, group, temperature),
        )

    def speed(self, side: str, group: str, categories: Sequence[str], temperature: float) -> Speed | None:
        """None if the side was not measured."""
        paces = list(self.of(side, temperature, categories).values())
        if not paces:
            return None
        answers = [record.answer for record in self.records(side, temperature, categories)]
        drafted = sum(answer.drafted for answer in answers)
        whole = [pace[0] for pace in paces]
        return Speed(
            side=side,
            group=group,
            temperature=temperature,
            tokens_per_second=median(whole),
            spread=(min(whole), max(whole)),
            decode_tokens_per_second=median(pace[1] for pace in paces),
            tokens_per_pass=sum(len(a.tokens) for a in answers) / max(1, sum(a.passes for a in answers)),
            acceptance_rate=sum(a.accepted for a in answers) / drafted if drafted else None,
        )


def _pace(records: Sequence[Record]) -> Pace:
    answers = [record.answer for record in records]
    return sum(len(a.tokens) for a in answers) / sum(a.seconds for a in answers), decoding_pace(answers)


def ratios(records: Sequence[Record], groups: Mapping[str, Sequence[str]]) -> list[Ratio]:
    """All measured ratios: by `PAIRS`, temperature and group."""
    paces = Paces(records)
    found = (
        paces.ratio(ours, peer, group, categories, temperature)
        for ours, peer in PAIRS
        for temperature in paces.temperatures
        for group, categories in groups.items()
    )
    return [ratio for ratio in found if ratio is not None]


def speeds(records: Sequence[Record], groups: Mapping[str, Sequence[str]]) -> list[Speed]:
    """All measured speeds: by side, temperature and group."""
    paces = Paces(records)
    found = (
        paces.speed(side, group, categories, temperature)
        for side in paces.sides
        for temperature in paces.temperatures
        for group, categories in groups.items()
    )
    return [speed for speed in found if speed is not None]


def best(
    records: Sequence[Record], sides: Sequence[Side], categories: Sequence[str], temperature: float
) -> Side | None:
    """The fastest side over all repeats of a search; None if none was measured."""
    paces = Paces(records)
    found = {side: paces.records(side.name, temperature, categories) for side in sides}
    measured = {side: _pace(those)[0] for side, those in found.items() if those}
    return max(measured, key=lambda side: measured[side]) if measured else None


def worst(rows: Sequence[Ratio], categories: Sequence[str]) -> Ratio | None:
    """The category and temperature where `auto` is worst against mlx-lm's plain decoding."""
    against = [r for r in rows if (r.ours, r.peer) == ("ours auto", "mlx-lm plain") and r.group in categories]
    return min(against, key=lambda row: row.ratio, default=None)
