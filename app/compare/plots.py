"""A comparison as a picture: bars of one drafting setting, lines of several."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from app.compare.comparison import Comparison
from app.compare.plan import Setting, plain_of
from app.compare.record import Record
from app.compare.words import circumstances, sentence
from app.shell.named_file import write_picture
from app.shell.number_text import counted
from app.shell.printable import one_line, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
GREY, GREEN, RED = "#9aa5b1", "#2f9e63", "#c2553f"
MARKERS = "os^Dv*"
SPEED = "tokens per second"
LINE = 90
"""Characters per line of titles and axis labels."""


@dataclass(frozen=True, slots=True)
class Series:
    """Speeds by draft length of one drafter and temperature; length 0 is plain decoding."""

    label: str
    lengths: tuple[int, ...]
    speeds: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    """`lows` and `highs`: plain speed times the smallest and largest ratio of the repeats."""


def series(record: Record) -> list[Series]:
    """One line per drafter and temperature, over its fixed draft lengths."""
    lines: dict[str, list[tuple[int, float, float, float]]] = {}
    lengths = {place: record.settings[place].draft_length for place in record.drafting}
    for place, length in sorted((p, n) for p, n in lengths.items() if n is not None):
        comparison = record.comparison(place)
        low, high = (ratio * comparison.plain_tps for ratio in comparison.ratio_spread)
        plain = record.speed(plain_of(record.settings, place))
        line = lines.setdefault(_line_name(record.settings[place]), [(0, plain, plain, plain)])
        line.append((length, comparison.drafted_tps, low, high))
    return [Series(name, *zip(*sorted(points), strict=True)) for name, points in lines.items()]


def auto_speeds(record: Record) -> dict[str, float]:
    """Tokens per second with automatic draft length, by line name."""
    autos = [place for place in record.drafting if record.settings[place].draft_length is None]
    return {_line_name(record.settings[place]): record.speed(place) for place in autos}


def draw(file: Path, record: Record) -> None:
    counts = f"{counted(len(record.prompts), 'prompt')}, {counted(record.repeats, 'run')} each"
    title = f"{record.facts['pair']['name']}: {counts}\n{sentence(record)}"
    note = f"{circumstances(record)}\n{record.date}{', broken off' if record.broken_off else ''}"
    place, *others = record.drafting
    if others:
        figure, axes = _figure((8, 4.8 + 0.2 * len(series(record))), title)
        _draw_lines(axes, record)
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
        _label(axes, f"draft length (0: plain decoding)\n{note}", f"{SPEED}, median of the repeats")
    else:
        groups = list(record.categories(place).items())
        if len(groups) > 1:
            groups.append(("all", record.comparison(place)))
        figure, axes = _figure((8, 1.9 + 0.62 * len(groups)), title)
        _draw_bars(axes, groups)
        figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
        _label(axes, f"{SPEED}, median of the repeats\n{note}, {record.settings[place].label}")
    write_picture(figure, file)


def _draw_bars(axes: "Axes", groups: list[tuple[str, Comparison]]) -> None:
    for place, (_, c) in enumerate(groups):
        labels = (None, None) if place else ("plain", "drafted")
        axes.barh(place - 0.19, c.plain_tps, 0.34, color=GREY, label=labels[0])
        axes.barh(place + 0.19, c.drafted_tps, 0.34, color=GREEN, label=labels[1])
        end, color = (max(c.plain_tps, c.drafted_tps), place), RED if c.ratio < 1 else "0.15"
        axes.annotate(f" {c.ratio_cell}", end, va="center", fontsize=11, fontweight="bold", color=color)
        look = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": "0.45"}
        axes.annotate(c.spread_cell if c.spread_cell != "-" else "", end, (52, 0), **look)
    axes.set_yticks(range(len(groups)), [one_line(name) for name, _ in groups], parse_math=False)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    if len(groups) > 1:
        axes.axhline(len(groups) - 1.5, color="0.85", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlim(0, max(max(c.plain_tps, c.drafted_tps) for _, c in groups) * 1.28 or 1)
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)


def _draw_lines(axes: "Axes", record: Record) -> None:
    from matplotlib.ticker import MaxNLocator

    # A color and a marker per drafter and temperature; automatic length is a dashed line in its color.
    names = list(dict.fromkeys(_line_name(record.settings[place]) for place in record.drafting))
    looks = {name: (f"C{place}", MARKERS[place % len(MARKERS)]) for place, name in enumerate(names)}
    for line in series(record):
        color, marker = looks[line.label]
        axes.plot(line.lengths, line.speeds, label=f"{line.label}, by length", color=color, marker=marker)
        axes.fill_between(line.lengths, line.lows, line.highs, alpha=0.15, color=color)
    for name, speed in auto_speeds(record).items():
        axes.axhline(speed, linestyle="--", label=f"{name}, length auto", color=looks[name][0])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)


def _figure(size: tuple[float, float], title: str) -> tuple["Figure", "Axes"]:
    """An empty figure with its title; `size` in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(_wrapped(title), loc="left", fontsize=9, parse_math=False)
    return figure, axes


def _label(axes: "Axes", across: str, up: str = "") -> None:
    axes.set_xlabel(_wrapped(across), fontsize=9, color="0.3", parse_math=False)
    axes.set_ylabel(up, fontsize=9, color="0.3")


def _wrapped(text: str) -> str:
    """Matplotlib never wraps axis labels, nor titles if the axes begin far from the left edge."""
    return "\n".join(line for part in printable(text).splitlines() for line in wrap(part, LINE))


def _line_name(setting: Setting) -> str:
    return f"{setting.drafter} at {setting.temperature:g}" if setting.temperature else setting.drafter
