"""A picture of a sweep: tokens per second against the draft length."""

from pathlib import Path

from app.compare.record import Record
from app.compare.series import line_name, series
from app.shell.picture import write_picture
from app.shell.printable import printable

MARKERS = "os^Dv*"


def plot_lengths(file: Path, record: Record, title: str, note: str) -> None:
    """Draw it into a file.

    Raises:
        MachineFailed: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
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
    axes.set_xlabel(f"draft length (0: plain decoding)\n{note}", fontsize=9, color="0.3")
    axes.set_ylabel("tokens per second, median of the repeats")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(printable(title), loc="left", fontsize=9, parse_math=False, wrap=True)
    axes.legend(frameon=False, fontsize=9)
    write_picture(figure, file)
