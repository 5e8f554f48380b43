"""Shown in an empty conversation: the program, the pair in use, the main keys."""

from textual.content import Content
from textual.selection import Selection
from textual.widgets import Static

from app.chat.engine_link import EngineState
from app.engine.events import PairInfo
from app.shell.printable import one_line
from app.tui.program import Program
from app.tui.widgets.sample import sample
from models.size_text import size_text

TIPS = """\
{app.help} help · {prompt.send} sends · {prompt.newline} newline
{chat.draft} draft · {chat.compare} compare · {app.pairs} pairs"""

TALL, SHORT = 22, 14
"""Terminal lines from which the sample is shown, and up to which an offer replaces the tips."""


class Welcome(Static):
    app: Program

    def __init__(self) -> None:
        super().__init__()
        self._pair = self._drafters = self._offer = ""

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """None while it is hidden: a triple click on a message selects all that is beside it."""
        return super().get_selection(selection) if self.display else None

    def on_resize(self) -> None:
        self._draw()

    def show_pair(self, name: str, state: EngineState, info: PairInfo | None) -> None:
        if info is not None:
            self._pair = f"{one_line(info.name)} · {size_text(info.memory_bytes)} · {one_line(info.device)}"
            self._drafters = one_line(f"drafters: {', '.join(info.drafters)}")
        else:
            waits = state == "loading"
            self._pair = f"{name}: loading. You can write already." if waits else f"{name}: not loaded"
            self._drafters = ""
        self._draw()

    def show_offer(self, text: str) -> None:
        """Show how to resume another chat."""
        self._offer = one_line(text)
        self._draw()

    def _draw(self) -> None:
        parts = [Content.styled("mlx-spec", "bold $text-accent")]
        if self.app.size.height >= TALL:
            parts += [Content(""), sample(), Content("")]
        parts.append(Content(self._pair))
        if self._drafters and self.app.size.height >= TALL:
            parts.append(Content(self._drafters))
        if not self._offer or self.app.size.height > SHORT:
            parts.append(Content.styled(self.app.keys.fill_in(TIPS), "$text-muted"))
        if self._offer:
            parts += [Content(""), Content.styled(self._offer, "$text-secondary")]
        self.update(Content("\n").join(parts))
