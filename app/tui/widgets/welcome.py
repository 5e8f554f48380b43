"""Shown in an empty conversation: the program, the pair in use, the main keys."""

from textual.content import Content
from textual.selection import Selection
from textual.widgets import Static

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
        self._offer = ""

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """None while it is hidden: a triple click on a message selects all that is beside it."""
        return super().get_selection(selection) if self.display else None

    def on_resize(self) -> None:
        self.draw()

    def show_offer(self, text: str) -> None:
        """Show how to resume another chat."""
        self._offer = one_line(text)
        if self.is_attached:  # not while the program ends
            self.draw()

    def draw(self) -> None:
        link = self.app.link
        info = link.info
        parts = [Content.styled("mlx-spec", "bold $text-accent")]
        if self.app.size.height >= TALL:
            parts += [Content(""), sample(), Content("")]
        if info is not None:
            parts.append(Content(one_line(f"{info.name} · {size_text(info.memory_bytes)} · {info.device}")))
        else:
            state = "loading. You can write already." if link.state == "loading" else "not loaded"
            parts.append(Content(one_line(f"{link.pair.name}: {state}")))
        if info is not None and self.app.size.height >= TALL:
            parts.append(Content(one_line(f"drafters: {', '.join(info.drafters)}")))
        if not self._offer or self.app.size.height > SHORT:
            parts.append(Content.styled(self.app.keys.fill_in(TIPS), "$text-muted"))
        if self._offer:
            parts += [Content(""), Content.styled(self._offer, "$text-secondary")]
        self.update(Content("\n").join(parts))
