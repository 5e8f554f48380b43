"""Prompts that were written and not sent: the next run of the program gives them back to their chat."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from app.history.unsent import Unsent, gave_back, keep_unsent, unsent
from app.shell.errors import AppError
from app.tui.answering import Waiting

if TYPE_CHECKING:
    from app.tui.screens.chat import ChatScreen


class UnsentPrompts:
    """Hands to the history what the chat screen would lose, and brings it back. Nothing is sent here."""

    def __init__(self, chat: "ChatScreen") -> None:
        self._chat = chat

    def put_away(self) -> bool:
        """Empty the prompt; return whether there was any text."""
        self._keep([Unsent(self._chat.prompt.area.text)])
        return self._chat.prompt.put_away()

    def left(self, waited: list[Waiting]) -> None:
        """These waited for an answer when another chat came into view, or came back to a prompt in use."""
        if waited:
            self._keep([Unsent(one.text) for one in waited])
            self._chat.prompt.past_files.keep(
                {one.text: one.attachments for one in waited if one.attachments}
            )
            what = (
                "A prompt that waited was" if len(waited) == 1 else f"{len(waited)} prompts that waited were"
            )
            files = ", with its files" if any(one.attachments for one in waited) else ""
            self._chat.transcript.note(f"{what} not sent. Up brings the text back{files}.", "warning")

    def end(self) -> None:
        """The program ends: everything that waits or is being written, with its files."""
        chat = self._chat
        waiting = [Unsent(one.text, one.attachments) for one in chat.answering.queued]
        before = [Unsent(chat.unsent)] if chat.editing else []
        written = Unsent(chat.prompt.area.text, chat.prompt.attachments)
        self._keep([*waiting, *before, written], chat.conversation.chat.id)

    async def put_back(self, chat_id: str | None) -> None:
        """Put the last prompt that was not sent in a chat into an empty prompt, the others behind Up.

        Without an id, those of chats that were never saved, because nothing was sent in them.
        """
        chat = self._chat
        try:
            found = await asyncio.wrap_future(chat.history.ask(lambda history: unsent(history, chat_id)))
        except AppError:
            return  # the history's thread has told it
        if found and chat.is_attached and not chat.prompt.area.text:
            *others, last = found
            if written := [one for one in found if one.text]:
                chat.prompt.put_back(written[-1].text, len(written) - 1)
            if any(one.attachments for one in others):
                chat.prompt.past_files.keep({one.text: one.attachments for one in written})
            chat.prompt.attach(*last.attachments)
            chat.state.show()
            chat.history.ask(lambda history: gave_back(history, chat_id))

    def _keep(self, prompts: list[Unsent], chat_id: str | None = None) -> None:
        # A command half written is quicker written anew than walked past.
        said = [replace(one, text="") if one.text.startswith("/") else one for one in prompts]
        kept = [one for one in said if one.text.strip() or one.attachments]
        if kept:
            self._chat.history.ask(lambda history: keep_unsent(history, kept, chat_id))
