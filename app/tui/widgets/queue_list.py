"""Prompts that wait for the running answer to end."""

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from app.shell.printable import one_line
from app.tui.keys.keyed_app import KeyedApp

HINT = "↑ takes back · {prompt.at_once} sends at once"
SHOWN = 3


class QueueList(Static):
    """A line each; takes no room while nothing waits."""

    app: KeyedApp

    texts: reactive[tuple[str, ...]] = reactive((), layout=True)

    def watch_texts(self) -> None:
        self.display = bool(self.texts)
        lines = [Content(f"⋯ next: {one_line(text)[:200]}") for text in self.texts[:SHOWN]]
        if len(self.texts) > SHOWN:
            lines.append(Content(f"⋯ and {len(self.texts) - SHOWN} more"))
        self.update(Content("\n").join([*lines, Content.styled(self.app.keys.told(HINT), "dim")]))
