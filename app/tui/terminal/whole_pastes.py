"""Reads a pasted text whole, whatever control characters it has; and Alt+Enter."""

from collections.abc import Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.events import Key, Paste
from textual.message import Message

from app.shell.printable import printable

_ESCAPE = "\x1b"


def read_pastes_whole() -> None:
    """Read the terminal with `WholePastes`. Textual's driver has no option for it, only this name."""
    linux_driver.XTermParser = WholePastes  # pyright: ignore[reportPrivateImportUsage]


class WholePastes(XTermParser):
    """Textual's own parser takes text after an Escape in a paste for keys, and its line ends for Enter; it
    reads a megabyte in seconds. It is given the marks of a paste only."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._is_pasting = False
        self._seen = ""
        """The last characters outside a paste: its start mark may come in two reads."""
        self._held = ""
        """The last characters of a paste, held back: they may begin its end mark."""
        self._pastes: list[list[str]] = []
        """The parts of each paste, as they are read."""

    def feed(self, data: str) -> Iterable[Message]:
        passed = self._without_pastes(data)
        # An empty text would mean the end of the input.
        for event in super().feed(passed) if passed or not data else ():
            yield Paste(_shown("".join(self._pastes.pop(0)))) if isinstance(event, Paste) else event

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        """Alt+Enter as terminals without Kitty's protocol send it, which Textual takes for Enter."""
        is_alt_enter = sequence == f"{_ESCAPE}\r"
        return [Key("alt+enter", None)] if is_alt_enter else super()._sequence_to_key_events(sequence, alt)

    def _without_pastes(self, data: str) -> str:
        """The data without the pasted texts, which are kept."""
        passed: list[str] = []
        while data:
            if self._is_pasting:
                data = self._held + data
                text, end, data = data.partition(BRACKETED_PASTE_END)
                self._held = "" if end else _partial_mark(text, BRACKETED_PASTE_END)
                self._pastes[-1].append(text.removesuffix(self._held))
                passed.append(end)
                self._is_pasting = not end
            else:
                before, begin, after = (self._seen + data).partition(BRACKETED_PASTE_START)
                passed.append(data.removesuffix(after) if begin else data)
                self._seen = "" if begin else _partial_mark(before, BRACKETED_PASTE_START)
                data, self._is_pasting = after, bool(begin)
                self._pastes += [[]] if begin else []
        return "".join(passed)


def _shown(text: str) -> str:
    """A pasted text, each Escape replaced by its visible sign, without NUL."""
    return text.replace(_ESCAPE, printable(_ESCAPE)).replace("\0", "")


def _partial_mark(text: str, mark: str) -> str:
    """The longest suffix of a text that is a proper prefix of the mark."""
    return next(
        end for size in range(len(mark) - 1, -1, -1) if mark.startswith(end := text[len(text) - size :])
    )
