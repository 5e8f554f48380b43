"""A line of parts that is broken between them, never inside one that fits by itself."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from app.tui.widgets.item_line import SEPARATOR


class BrokenLine:
    """What Rich draws of the line, at whatever width there is."""

    def __init__(self, text: str, style: Style) -> None:
        self._text, self._style = text, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text("\n".join(broken(self._text, options.max_width)), self._style)


def broken(text: str, width: int) -> list[str]:
    """The lines, each with as many of the parts as fit."""
    first, *others = text.split(SEPARATOR)
    lines = [first]
    for part in others:
        longer = f"{lines[-1]}{SEPARATOR}{part}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
