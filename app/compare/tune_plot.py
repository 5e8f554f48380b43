"""A picture of what rounds cost: target passes and whole rounds over the rows of a pass."""

from pathlib import Path
from typing import TYPE_CHECKING

from app.shell.picture import write_picture
from app.shell.printable import printable

if TYPE_CHECKING:
    from mlx_spec.policy.calibrate import Calibration

PASS, FAR_PASS, MODEL = "#4b6a88", "#9aa5b1", "#2f9e63"


def draw(file: Path, calibration: "Calibration", title: str) -> None:
    """Draw the curve into a file.

    Raises:
        MachineFailed: the file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for context, color in ((calibration.near, PASS), (calibration.far, FAR_PASS)):
        passes = calibration.verifying(context)
        axes.plot(
            list(passes), [s * 1000 for s in passes.values()], "o-", color=color, markersize=4,
            label=f"target pass, {context} tokens in the context",
        )  # fmt: skip
    costs = calibration.costs()
    if costs.longest("model"):
        seconds = costs.curve("model", costs.longest("model"), calibration.near)
        axes.plot(
            range(1, len(seconds) + 1), seconds * 1000, "o-", color=MODEL, markersize=4,
            label="round with the draft model",
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows: the last token and those drafted", fontsize=9, color="0.3")
    axes.set_ylabel("milliseconds", fontsize=9, color="0.3")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(printable(title), loc="left", fontsize=11, parse_math=False)
    axes.legend(frameon=False, fontsize=9)
    write_picture(figure, file)
