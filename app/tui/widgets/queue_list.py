"""Prompts that wait for the running answer to end."""

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from app.printable import one_line

HINT = "↑ takes the last one back · Ctrl+B sends at once"
SHOWN = 3


class QueueList(Static):
    """A line each; takes no room while nothing waits."""

    texts: reactive[tuple[str, ...]] = reactive((), layout=True)

    def watch_texts(self) -> None:
        self.display = bool(self.texts)
        lines = [Content(f"⋯ next: {one_line(text)[:200]}") for text in self.texts[:SHOWN]]
        if len(self.texts) > SHOWN:
            lines.append(Content(f"⋯ and {len(self.texts) - SHOWN} more"))
        self.update(Content("\n").join([*lines, Content.styled(HINT, "dim")]))
