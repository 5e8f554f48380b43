"""A picture of a sweep: tokens per second against the draft length."""

from itertools import cycle
from pathlib import Path

from app.comparisons.record import Record
from app.comparisons.series import series
from app.picture import write_picture
from app.printable import printable

MARKERS = "os^Dv*"
AUTO_STYLES = ("--", ":", "-.")


def plot_lengths(file: Path, record: Record, title: str, note: str) -> None:
    """Draw it into a file.

    Raises:
        MachineFailed: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for number, line in enumerate(series(record)):
        marker = MARKERS[number % len(MARKERS)]
        axes.plot(line.lengths, line.speeds, marker=marker, label=line.label)
        axes.fill_between(line.lengths, line.lows, line.highs, alpha=0.15)
    styles = cycle(AUTO_STYLES)
    for place in record.drafting:
        if record.settings[place].draft_length is None:
            style = next(styles)
            axes.axhline(
                record.speed(place), linestyle=style, color="0.4", label=record.settings[place].label
            )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"draft length (0: plain decoding)\n{note}", fontsize=9, color="0.3")
    axes.set_ylabel("tokens per second, median of the repeats")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(printable(title), loc="left", fontsize=9, parse_math=False, wrap=True)
    axes.legend(frameon=False, fontsize=9)
    write_picture(figure, file)
