"""Earlier prompts, recalled with Up and Down as in a shell."""

from collections.abc import Iterable
from dataclasses import replace

from app.history.records import Attachment
from app.history.unsent import Unsent


class PastPrompts:
    """Prompts, oldest first, each text once, some with attached files.

    The prompt being written is kept meanwhile; its files stay attached to recalled texts without their own.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._files: dict[str, tuple[Attachment, ...]] = {}
        self._edits: dict[int, str] = {}
        """By place: what a recalled text was changed to."""
        self._place = 0
        self._draft = Unsent("")

    def begin(self, texts: Iterable[str]) -> None:
        """Put the texts of earlier runs before those of this one; the shown one stays."""
        before = [text for text in texts if text not in self._texts]
        self._texts = [*before, *self._texts]
        self._place += len(before)
        self._edits = {place + len(before): text for place, text in self._edits.items()}

    def add(self, text: str, files: tuple[Attachment, ...] | None = None) -> None:
        if self._place < len(self._texts):
            # A recalled text was in the place of the one being written: that comes back behind it.
            written, recalled = self._draft, self._texts[self._place]
            left = written.attachments if recalled in self._files else ()
            if written.text.strip() or left:
                self._put(written.text, left or None)
        self._put(text, files)
        self._place = len(self._texts)
        self._edits.clear()

    def _put(self, text: str, files: tuple[Attachment, ...] | None) -> None:
        self._texts = [*(one for one in self._texts if one != text), text]
        self._files.pop(text, None)
        if files is not None:
            self._files[text] = files

    def earlier(self, shown: Unsent) -> Unsent | None:
        """The prompt before the shown one; None at the oldest."""
        if shown.text and self._place == len(self._texts) and self._texts[-1:] == [shown.text]:
            self._place, self._draft = self._place - 1, Unsent("")  # the last prompt is back in the input
        return self._move(shown, self._place - 1)

    def later(self, shown: Unsent) -> Unsent | None:
        """The prompt after the shown one, the one being written comes last; None after it."""
        return self._move(shown, self._place + 1)

    def _move(self, shown: Unsent, place: int) -> Unsent | None:
        if not 0 <= place <= len(self._texts):
            return None
        if self._place == len(self._texts):
            self._draft = shown
        else:
            if shown.text:  # an emptied one comes back whole
                self._edits[self._place] = shown.text
            self._leave_files(shown)
        self._place = place
        if place == len(self._texts):
            return self._draft
        text = self._texts[place]
        files = self._files.get(text, self._draft.attachments)
        return Unsent(self._edits.get(place, text), files)

    def _leave_files(self, shown: Unsent) -> None:
        if (left := self._texts[self._place]) in self._files:
            self._files[left] = shown.attachments
        else:
            self._draft = replace(self._draft, attachments=shown.attachments)
