"""Files of prompts that were not sent: they come and go with their texts when Up and Down walk past them."""

from collections.abc import Mapping

from app.history.records import Attachment

Files = tuple[Attachment, ...]


class PastFiles:
    """The files by text. What the person attached to another text stays while those are walked past."""

    def __init__(self) -> None:
        self._of: dict[str, Files] = {}
        self._aside: Files = ()
        """Those that were there before a text with its own files came."""

    def keep(self, prompts: Mapping[str, Files]) -> None:
        """Have these come back with their texts."""
        self._of.update(prompts)

    def walked(self, shown: str, found: str, files: Files) -> Files:
        """The files to show with the text that was `found`, where `files` are shown with the one before."""
        if shown in self._of:
            self._of[shown] = files
            files = self._aside
        if found not in self._of:
            return files
        self._aside = files
        return self._of[found]

    def sent(self, text: str) -> None:
        """The text went off with what was shown: Up brings it back as any other."""
        self._of.pop(text, None)
