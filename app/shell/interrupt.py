"""Ctrl+C as a flag, polled between rounds so that what was computed is kept."""

import signal
from types import FrameType
from typing import Self


class Interrupt:
    """While entered, the first Ctrl+C only sets `pressed`; a second one ends the program as usual."""

    def __init__(self) -> None:
        self.pressed = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._on_press)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _on_press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
