"""The files that go with the next prompt."""

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from app.history.records import Attachment
from app.shell.counted import counted
from app.shell.printable import one_line


class AttachmentList(Static):
    """The names, and how to take one away; takes no room while there is none."""

    files: reactive[tuple[Attachment, ...]] = reactive((), layout=True)

    def watch_files(self) -> None:
        self.display = bool(self.files)
        names = " · ".join(f"▤ {one_line(f.name)} ({counted(len(f.text), 'character')})" for f in self.files)
        self.update(Content.assemble(names, "\n", ("Backspace without text drops one", "dim")))
