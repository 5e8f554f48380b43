"""A pasted text arrives whole, whatever control characters it holds."""

from collections.abc import Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.message import Message

from app.shell.printable import printable

_ESCAPE = "\x1b"


def read_pastes_whole() -> None:
    """Have the terminal read by `WholePastes`. Textual's driver lets nobody choose: it takes this name."""
    linux_driver.XTermParser = WholePastes  # pyright: ignore[reportPrivateImportUsage]


class WholePastes(XTermParser):
    """Textual's own takes what follows an Escape within a paste for keys, and line ends for Enter."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._is_pasting = False
        self._seen = ""
        """The last few characters before a paste: its mark may come in two reads."""
        self._held = ""
        """The last few of a paste, not passed on yet: they may be the beginning of its end mark."""

    def feed(self, data: str) -> Iterable[Message]:
        passed = self._without_escapes(data)
        # Nothing at all would mean the end of the input.
        return super().feed(passed) if passed or not data else ()

    def _without_escapes(self, data: str) -> str:
        """The same, each Escape within a paste replaced by the sign that shows it."""
        passed: list[str] = []
        while data:
            if self._is_pasting:
                data = self._held + data
                text, end, data = data.partition(BRACKETED_PASTE_END)
                self._held = "" if end else _begun(text, BRACKETED_PASTE_END)
                text = text.removesuffix(self._held)
                passed += [text.replace(_ESCAPE, printable(_ESCAPE)), end]
                self._is_pasting = not end
            else:
                before, begin, after = (self._seen + data).partition(BRACKETED_PASTE_START)
                passed.append(data.removesuffix(after) if begin else data)
                self._seen = "" if begin else _begun(before, BRACKETED_PASTE_START)
                data, self._is_pasting = after, bool(begin)
        return "".join(passed)


def _begun(text: str, mark: str) -> str:
    """The longest end of a text that a mark begins with."""
    return next(
        end for size in range(len(mark) - 1, -1, -1) if mark.startswith(end := text[len(text) - size :])
    )
