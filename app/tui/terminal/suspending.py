"""Stopped by Ctrl+Z or by a signal, and going on: between two steps of the loop, never within one."""

import asyncio
import signal
from collections.abc import Callable


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
