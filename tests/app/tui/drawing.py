"""Leaves out what Textual draws after every change: a third of what most tests of screens cost."""

from collections.abc import Iterator
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack


@pytest.fixture(autouse=True)
def drawn_when_read() -> Iterator[None]:
    """For tests that look at what is drawn themselves, or not at all: a module that imports it has it."""
    with pytest.MonkeyPatch.context() as patch:
        draw_only_what_is_read(patch)
        yield


def draw_only_what_is_read(patch: pytest.MonkeyPatch) -> None:
    honest = Compositor.render_update

    def update(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
        if full:  # for a picture
            return honest(self, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        self._dirty_regions.clear()
        return None

    patch.setattr(Compositor, "render_update", update)
