"""A picture of a comparison: speeds with and without drafting per category, each with its ratio."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from app.compare.bench.comparison import Comparison
from app.shell.errors import BadInput
from app.shell.output_file import check_place
from app.shell.picture import write_picture
from app.shell.printable import one_line, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
PLAIN, DRAFTED, LOST = "#9aa5b1", "#2f9e63", "#c2553f"


def check_plot(file: Path) -> None:
    """Refuse a picture that could not be made, before the measuring begins.

    Raises:
        BadInput: another kind of file, or a place where none can be written.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise BadInput(f"--plot {file}: the name must end in .png or .svg.")
    check_place("--plot", file)


def plot(
    file: Path, categories: Mapping[str, Comparison], overall: Comparison, title: str, note: str
) -> None:
    """Draw the comparison into a file.

    Raises:
        MachineFailed: the file cannot be written.
    """
    from matplotlib.figure import Figure

    groups = list(categories.items())
    if len(groups) > 1:  # one alone is all there is
        groups.append(("all", overall))
    figure = Figure(figsize=(8, 1.5 + 0.62 * len(groups)), layout="constrained")
    axes = figure.subplots()
    ends = [_draw_group(axes, place, comparison) for place, (_, comparison) in enumerate(groups)]
    axes.set_yticks(range(len(groups)), [one_line(name) for name, _ in groups], parse_math=False)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    if len(groups) > 1:
        axes.axhline(len(groups) - 1.5, color="0.85", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlim(0, max(ends) * 1.28)
    axes.set_xlabel(f"tokens per second, median of the repeats\n{note}", fontsize=9, color="0.3")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    axes.set_title(printable(f"{title}\n{overall.verdict}"), loc="left", fontsize=11, parse_math=False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=9)
    write_picture(figure, file)


def _draw_group(axes: "Axes", place: int, comparison: Comparison) -> float:
    """Two bars and the ratio with its spread; returns where the longer bar ends."""
    first = place == 0
    axes.barh(place - 0.19, comparison.plain_tps, 0.34, color=PLAIN, label="plain" if first else None)
    axes.barh(place + 0.19, comparison.drafted_tps, 0.34, color=DRAFTED, label="drafted" if first else None)
    end = max(comparison.plain_tps, comparison.drafted_tps)
    low, high = comparison.ratio_spread
    color = LOST if comparison.ratio < 1 else "0.15"
    axes.annotate(
        f" {comparison.ratio:.2f}x", (end, place), va="center", fontsize=11, fontweight="bold", color=color
    )
    axes.annotate(
        f"{low:.2f} to {high:.2f}", (end, place), (52, 0), textcoords="offset points", va="center",
        fontsize=8, color="0.45",
    )  # fmt: skip
    return end
