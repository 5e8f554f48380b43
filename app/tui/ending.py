"""Ending because the machine says so: a closed terminal, a shutdown."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable

GRACE_SECONDS = 10.0
"""After so long the process ends whatever it waits for: nobody is left to see it hang."""


def end_on_signals(leave: Callable[[], object], grace: float = GRACE_SECONDS) -> None:
    """On SIGHUP and SIGTERM call `leave` in the running loop; end by force where that takes too long."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _end, leave, number, grace)


def _end(leave: Callable[[], object], number: int, grace: float) -> None:
    # A thread of its own: Textual waits for its output thread, which may wait for a terminal that is gone.
    watch = threading.Timer(grace, os._exit, (128 + number,))
    watch.daemon = True
    watch.start()
    leave()
