"""Leaves out what Textual draws after every change."""

from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack


def draw_only_what_is_read(patch: pytest.MonkeyPatch) -> None:
    """Draw pictures, and what a test asks a widget or the screen for, and nothing else."""
    honest = Compositor.render_update

    def update(self: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
        if full:  # for a picture
            return honest(self, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        self._dirty_regions.clear()
        return None

    patch.setattr(Compositor, "render_update", update)
