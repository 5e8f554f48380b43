"""A drawn figure as a file."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from app.shell.output_file import writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_picture(figure: "Figure", file: Path) -> None:
    """Write the figure as what the file's suffix says.

    Raises:
        MachineFailed: the file cannot be written.
    """
    with writing(file), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in a script that the font lacks
        figure.savefig(file, dpi=160)
