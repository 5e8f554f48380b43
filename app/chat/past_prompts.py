"""What was asked before, walked with Up and Down as in a shell."""

from collections.abc import Iterable, Mapping

from app.history.records import Attachment

Files = tuple[Attachment, ...]


class PastPrompts:
    """Texts, oldest first; the text being written is kept while older ones are looked at."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._place = 0
        self._draft = ""

    def begin(self, texts: Iterable[str]) -> None:
        """Put the texts of earlier runs before those of this one."""
        self._texts = [*texts, *self._texts]
        self._place = len(self._texts)

    def add(self, text: str) -> None:
        self._texts = [*(one for one in self._texts if one != text), text]
        self._place = len(self._texts)

    def earlier(self, shown: str) -> str | None:
        """The text before the shown one; None at the oldest."""
        place = self._place - 1
        if 0 <= place and self._texts[place] == shown:
            place -= 1  # a prompt that was given back
        return self._move(shown, place)

    def later(self, shown: str) -> str | None:
        """The text after the shown one, in the end the one that was being written; None after it."""
        return self._move(shown, self._place + 1)

    def _move(self, shown: str, place: int) -> str | None:
        if not 0 <= place <= len(self._texts):
            return None
        if self._place == len(self._texts):
            self._draft = shown
        self._place = place
        return [*self._texts, self._draft][place]


class PastFiles:
    """The files by text. What the person attached to another text stays while those are walked past."""

    def __init__(self) -> None:
        self._of: dict[str, Files] = {}
        self._aside: Files = ()

    def keep(self, prompts: Mapping[str, Files]) -> None:
        self._of.update(prompts)

    def walked(self, shown: str, found: str, files: Files) -> Files:
        """The files to show with the text that was `found`, where `files` are shown with the one before."""
        if shown in self._of:
            self._of[shown] = files
            files = self._aside
        if found in self._of:
            self._aside = files
            files = self._of[found]
        return files

    def sent(self, text: str) -> None:
        self._of.pop(text, None)
