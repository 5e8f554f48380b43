"""Reads a pasted text whole, whatever control characters it has."""

from collections.abc import Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.message import Message

from app.shell.printable import printable

_ESCAPE = "\x1b"


def read_pastes_whole() -> None:
    """Read the terminal with `WholePastes`. Textual's driver has no option for it, only this name."""
    linux_driver.XTermParser = WholePastes  # pyright: ignore[reportPrivateImportUsage]


class WholePastes(XTermParser):
    """Textual's own parser takes text after an Escape in a paste for keys, and its line ends for Enter."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._is_pasting = False
        self._seen = ""
        """The last characters outside a paste: its start mark may come in two reads."""
        self._held = ""
        """The last characters of a paste, held back: they may begin its end mark."""

    def feed(self, data: str) -> Iterable[Message]:
        passed = self._without_escapes(data)
        # An empty text would mean the end of the input.
        return super().feed(passed) if passed or not data else ()

    def _without_escapes(self, data: str) -> str:
        """The data, each Escape in a paste replaced by its visible sign."""
        passed: list[str] = []
        while data:
            if self._is_pasting:
                data = self._held + data
                text, end, data = data.partition(BRACKETED_PASTE_END)
                self._held = "" if end else _partial_mark(text, BRACKETED_PASTE_END)
                text = text.removesuffix(self._held)
                passed += [text.replace(_ESCAPE, printable(_ESCAPE)), end]
                self._is_pasting = not end
            else:
                before, begin, after = (self._seen + data).partition(BRACKETED_PASTE_START)
                passed.append(data.removesuffix(after) if begin else data)
                self._seen = "" if begin else _partial_mark(before, BRACKETED_PASTE_START)
                data, self._is_pasting = after, bool(begin)
        return "".join(passed)


def _partial_mark(text: str, mark: str) -> str:
    """The longest suffix of a text that is a proper prefix of the mark."""
    return next(
        end for size in range(len(mark) - 1, -1, -1) if mark.startswith(end := text[len(text) - size :])
    )
