"""A comparison as a picture: bars of one drafting setting, lines of several."""

from pathlib import Path
from typing import TYPE_CHECKING

from app.compare.comparison import Comparison
from app.compare.record import Record
from app.compare.series import line_name, series
from app.shell.named_file import write_picture
from app.shell.printable import one_line, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
GREY, GREEN, RED = "#9aa5b1", "#2f9e63", "#c2553f"
MARKERS = "os^Dv*"


def bars(file: Path, record: Record, title: str, note: str) -> None:
    """Speeds with and without the one drafting setting, per category, each with its ratio.

    Raises:
        MachineFailed: the file cannot be written.
    """
    (place,) = record.drafting
    groups = list(record.categories(place).items())
    if len(groups) > 1:  # one alone is all there is
        groups.append(("all", record.comparison(place)))
    label = record.settings[place].label
    figure, axes = new_figure((8, 1.9 + 0.62 * len(groups)), title)
    ends = [_group(axes, number, comparison) for number, (_, comparison) in enumerate(groups)]
    axes.set_yticks(range(len(groups)), [one_line(name) for name, _ in groups], parse_math=False)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    if len(groups) > 1:
        axes.axhline(len(groups) - 1.5, color="0.85", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlim(0, max(ends) * 1.28)
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    label_axes(axes, f"tokens per second, median of the repeats\n{note}, {label}")
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    write_picture(figure, file)


def lines(file: Path, record: Record, title: str, note: str) -> None:
    """Tokens per second of every drafter and temperature against the draft length.

    Raises:
        MachineFailed: the file cannot be written.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_figure((8, 5), title)
    # A color and a marker per drafter and temperature; its own policy's speed is a dashed line of both.
    names = list(dict.fromkeys(line_name(record.settings[place]) for place in record.drafting))
    looks = {name: (f"C{place}", MARKERS[place % len(MARKERS)]) for place, name in enumerate(names)}
    for line in series(record):
        color, marker = looks[line.label]
        axes.plot(line.lengths, line.speeds, label=line.label, color=color, marker=marker)
        axes.fill_between(line.lengths, line.lows, line.highs, alpha=0.15, color=color)
    for place in record.drafting:
        setting = record.settings[place]
        if setting.draft_length is None:
            color, marker = looks[line_name(setting)]
            speed = record.speed(place)
            axes.axhline(speed, linestyle="--", label=setting.label, color=color, marker=marker)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    label_axes(axes, f"draft length (0: plain decoding)\n{note}", "tokens per second, median of the repeats")
    axes.legend(frameon=False, fontsize=9)
    write_picture(figure, file)


def new_figure(size: tuple[float, float], title: str) -> tuple["Figure", "Axes"]:
    """An empty figure with its title; `size` in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(printable(title), loc="left", fontsize=9, parse_math=False, wrap=True)
    return figure, axes


def label_axes(axes: "Axes", across: str, up: str = "") -> None:
    """Name both axes; a note may follow on lines of its own."""
    axes.set_xlabel(printable(across), fontsize=9, color="0.3")
    axes.set_ylabel(up, fontsize=9, color="0.3")


def _group(axes: "Axes", place: int, comparison: Comparison) -> float:
    """Two bars and the ratio with its spread; returns where the longer bar ends."""
    first = place == 0
    axes.barh(place - 0.19, comparison.plain_tps, 0.34, color=GREY, label="plain" if first else None)
    axes.barh(place + 0.19, comparison.drafted_tps, 0.34, color=GREEN, label="drafted" if first else None)
    end = max(comparison.plain_tps, comparison.drafted_tps)
    low, high = comparison.ratio_spread
    color = RED if comparison.ratio < 1 else "0.15"
    axes.annotate(
        f" {comparison.ratio:.2f}x", (end, place), va="center", fontsize=11, fontweight="bold", color=color
    )
    axes.annotate(
        f"{low:.2f} to {high:.2f}", (end, place), (52, 0), textcoords="offset points", va="center",
        fontsize=8, color="0.45",
    )  # fmt: skip
    return end
