"""Speeds by draft length, one line per drafter and temperature: what a plot of a sweep draws."""

from dataclasses import dataclass

from app.compare.record import Record
from app.compare.setting import Setting


@dataclass(frozen=True, slots=True)
class Series:
    """One line; length 0 is plain decoding."""

    label: str
    lengths: tuple[int, ...]
    speeds: tuple[float, ...]
    """Tokens per second."""
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    """Where the speed would lie with the smallest and largest ratio of the repeats."""


def series(record: Record) -> list[Series]:
    """The lines of a record, drafters whose own policy chose the length left out."""
    groups: dict[tuple[str, float], list[int]] = {}
    for place in record.drafting:
        setting = record.settings[place]
        if setting.draft_length is not None:
            groups.setdefault((setting.drafter, setting.temperature), []).append(place)
    return [_line(record, places) for places in groups.values()]


def _line(record: Record, places: list[int]) -> Series:
    setting = record.settings[places[0]]
    points = [(0, *[record.speed(record.plain_of(places[0]))] * 3)]
    for place in sorted(places, key=lambda place: record.settings[place].draft_length or 0):
        comparison = record.comparison(place)
        low, high = (ratio * comparison.plain_tps for ratio in comparison.ratio_spread)
        points.append((record.settings[place].draft_length or 0, comparison.drafted_tps, low, high))
    lengths, speeds, lows, highs = zip(*points, strict=True)
    return Series(line_name(setting), lengths, speeds, lows, highs)


def line_name(setting: Setting) -> str:
    """The line that a setting belongs to, whatever its length."""
    return f"{setting.drafter} at {setting.temperature:g}" if setting.temperature else setting.drafter
