"""Texts are tokenized on other threads, one at a time, the shortest first: one of megabytes takes seconds."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")

_ONE_READS = threading.Lock()
"""How a tokenizer reads special tokens is a setting of it, changed for each text."""


class Tokenizing(Future[T]):
    """A text that is tokenized, or waits for it. The program ends without waiting.

    Args:
        length: of the text, in about characters.
    """

    present: "ClassVar[list[Tokenizing[Any]]]" = []
    """Only the thread that makes them changes it."""

    def __init__(self, length: int, read: Callable[[], T]) -> None:
        super().__init__()
        self._length, self._read = length, read
        self.present.append(self)
        threading.Thread(target=self._read_shortest, name="prompt", daemon=True).start()

    def leave(self) -> None:
        """Do not read it any more; while it waits for another to be read, it would keep its text."""
        self.cancel()
        self.present.remove(self)

    @classmethod
    def _read_shortest(cls) -> None:
        with _ONE_READS:
            waiting = (each for each in list(cls.present) if not each.done())
            shortest = min(waiting, key=lambda each: each._length, default=None)
            if shortest and shortest.set_running_or_notify_cancel():
                try:
                    shortest.set_result(shortest._read())
                except BaseException as error:
                    shortest.set_exception(error)
