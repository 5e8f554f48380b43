"""Reads whatever bytes a terminal sends: keys in an encoding other than UTF-8, binary data that is pasted."""

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable
from functools import partial

from textual.drivers import linux_driver


def read_any_bytes() -> None:
    """Read bytes that are no UTF-8 as �, where Textual's driver would end the program. It has no option for
    this, only the name."""
    linux_driver.getincrementaldecoder = _forgiving  # pyright: ignore[reportPrivateImportUsage]


def _forgiving(encoding: str) -> Callable[[], IncrementalDecoder]:
    return partial(getincrementaldecoder(encoding), "replace")
