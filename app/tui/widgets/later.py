"""A call a while later that a busy machine cannot lose."""

import asyncio
from collections.abc import Callable

from textual.widget import Widget


def later(widget: Widget, seconds: float, call: Callable[[], object]) -> asyncio.TimerHandle:
    """Textual's `set_timer` never calls if its thread lost the processor for `seconds` while it started."""
    return asyncio.get_running_loop().call_later(seconds, widget.call_next, call)
