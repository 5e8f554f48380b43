"""Signals: ending on a closed terminal or a shutdown, suspending and resuming with Ctrl+Z and `fg`."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from types import FrameType

GRACE_SECONDS = 10.0
"""After this time the process ends by force: nobody is left to see it hang."""

LOOK_SECONDS = 1.0
"""How often we look whether the terminal is still there."""


def end_on_signals(leave: Callable[[], object], grace: float = GRACE_SECONDS) -> None:
    """On SIGHUP, SIGTERM and a closed terminal call `leave` in the running loop; end by force if it hangs."""
    loop, context = asyncio.get_running_loop(), copy_context()

    # Not `loop.add_signal_handler`: a terminal that reads nothing more blocks the loop and its handlers.
    def end(number: int, frame: FrameType | None) -> None:
        # A shell's `kill` has a suspended program go on behind it, where the terminal would stop it again.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        # A thread of its own: Textual waits for its output thread, which waits for a terminal that is gone.
        watch = threading.Timer(grace, os._exit, (128 + number,))
        watch.daemon = True
        watch.start()
        # In the caller's context: a signal handler may run in any.
        with suppress(RuntimeError):  # The loop is closed: the program ends already.
            loop.call_soon_threadsafe(leave, context=context)

    # SIGHUP goes to the terminal's first process alone, which may be `make` and keep it to itself.
    def look() -> None:
        while os.isatty(terminal):
            time.sleep(LOOK_SECONDS)
        end(signal.SIGHUP, None)

    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, end)
    if sys.stdin is not None and os.isatty(terminal := sys.stdin.fileno()):
        threading.Thread(target=look, daemon=True).start()


def suspend_between_steps(is_drawing: Callable[[], bool]) -> None:
    """Have the running loop call Textual's handlers of SIGTSTP and SIGCONT.

    Called directly, they wait for the lock of Textual's output, which the interrupted code may hold: the
    program would hang and ignore every other signal.

    `is_drawing`: False while another program has the terminal and the loop waits for it. Then the handlers
    touch no output, and have to run at once.
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
