"""Signals: ended by a closed terminal or a shutdown, stopped and continued by Ctrl+Z and `fg`."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from types import FrameType

GRACE_SECONDS = 10.0
"""After so long the process ends whatever it waits for: nobody is left to see it hang."""


def end_on_signals(leave: Callable[[], object], grace: float = GRACE_SECONDS) -> None:
    """On SIGHUP and SIGTERM call `leave` in the running loop; end by force where that takes too long."""
    loop, context = asyncio.get_running_loop(), copy_context()

    # No handler of the loop's: a terminal that takes nothing more holds the loop up, and that one with it.
    def end(number: int, frame: FrameType | None) -> None:
        # A thread of its own: Textual waits for its output thread, and that for a terminal that is gone.
        watch = threading.Timer(grace, os._exit, (128 + number,))
        watch.daemon = True
        watch.start()
        # In the context of who asked: a signal comes in any.
        with suppress(RuntimeError):  # The loop is closed: the program ends already.
            loop.call_soon_threadsafe(leave, context=context)

    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, end)


def suspend_between_steps(is_drawing: Callable[[], bool]) -> None:
    """Have Textual's handlers of SIGTSTP and SIGCONT called by the running loop.

    Called where the signal arrives, they wait for the lock of Textual's output, which the code they
    interrupted may hold: the program would hang for good, deaf to every other signal.

    `is_drawing`: False while another program has the terminal and the loop waits for it. Then they
    touch no output, and have to act at once.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTSTP, signal.SIGCONT):
        handler = signal.getsignal(number)
        assert callable(handler), "Textual's driver has its handlers"

        def later(*given: object, handler: Callable[..., object] = handler) -> None:
            if is_drawing():
                loop.call_soon_threadsafe(handler, *given)
            else:
                handler(*given)

        signal.signal(number, later)
