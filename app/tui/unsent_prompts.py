"""Prompts that were written and not sent: Up brings them back, in the next run of the program too."""

from typing import TYPE_CHECKING

from app.tui.answering import Waiting

if TYPE_CHECKING:
    from app.tui.screens.chat import ChatScreen


class UnsentPrompts:
    """Hands to the history what the chat screen would lose."""

    def __init__(self, chat: "ChatScreen") -> None:
        self._chat = chat

    def put_away(self) -> bool:
        """Empty the prompt; return whether there was any text."""
        self._keep([self._chat.prompt.area.text])
        return self._chat.prompt.put_away()

    def left(self, waited: list[Waiting]) -> None:
        """Another chat came into view while these waited for an answer in the one before."""
        if waited:
            self._keep([one.text for one in waited])
            what = (
                "A prompt that waited was" if len(waited) == 1 else f"{len(waited)} prompts that waited were"
            )
            files = ", without its files" if any(one.attachments for one in waited) else ""
            self._chat.transcript.note(f"{what} not sent. Up brings the text back{files}.", "warning")

    def end(self) -> None:
        """The program ends: everything that waits or is being written."""
        chat = self._chat
        waiting = [one.text for one in chat.answering.queued]
        self._keep([*waiting, *([chat.unsent] if chat.editing else []), chat.prompt.area.text])

    def _keep(self, texts: list[str]) -> None:
        # A command half written is quicker written anew than walked past.
        kept = [text for text in texts if text.strip() and not text.startswith("/")]
        if kept:
            self._chat.history.ask(lambda history: history.keep_unsent(kept))
