"""Unsent prompts: the next run of the program puts them back into their chat."""

import asyncio
from dataclasses import asdict, replace

from app.chat.open_chat import OpenChat
from app.history.records import ChatMessage
from app.history.store import History
from app.history.unsent import Unsent, gave_back, keep_unsent, unsent
from app.shell.errors import AppError
from app.shell.left_behind import LeftBehind
from app.tui.widgets.prompt import Prompt
from models.paths import data_folder


class UnsentPrompts:
    """Saves prompts that would be lost to the history, and puts them back. Sends nothing."""

    def __init__(self, chat: OpenChat, prompt: Prompt) -> None:
        self._chat = chat
        self._prompt = prompt
        self._aside = Unsent("")
        """The text being written when the edit of an earlier prompt began."""
        self._being_written = LeftBehind(data_folder() / "unsent")
        self._kept: object = None
        self._ended = False
        chat.history.ask(self._take_over)

    def stash(self) -> bool:
        self._keep([Unsent(self._prompt.area.text)])
        return self._prompt.stash()

    def make_way(self) -> None:
        """Put the text being written behind Up, for a command in its place; its files stay attached."""
        if kept := _worth_keeping([Unsent(self._prompt.area.text)]):
            self._keep(kept)
            self._prompt.past.add(kept[0].text)
            self._chat.view.note("Up brings back what you were writing.")

    def begin_editing(self, prompt: ChatMessage) -> None:
        if self._chat.editing is None:
            self._aside = Unsent(self._prompt.area.text, self._prompt.take_attachments())
        else:
            self.stash()
        self._prompt.fill(prompt.text, *prompt.attachments)

    def leave_editing(self) -> None:
        """Restore what was written before the edit; Up brings the edited text back."""
        self.stash()
        self._prompt.fill(self._aside.text, *self._aside.attachments)

    def leave_unkept(self) -> None:
        if self.stash():
            self._chat.view.note("Up brings back what was not sent in the temporary chat.")

    def sent_edited(self) -> None:
        aside, self._aside = self._aside, Unsent("")
        self.return_prompts([aside] if aside.text or aside.attachments else [])

    def return_prompts(self, waited: list[Unsent]) -> None:
        """Put unsent prompts into the input if it is empty or has their text; else Up brings them back."""
        text = "\n".join(one.text for one in waited)
        if self._prompt.area.text not in ("", text):
            self.keep(waited)
        elif waited:
            self._prompt.fill(text, *(file for one in waited for file in one.attachments))

    def keep(self, waited: list[Unsent]) -> None:
        if waited:
            self._keep([Unsent(one.text) for one in waited])
            for one in waited:
                self._prompt.past.add(one.text, one.attachments or None)
            count = len(waited)
            what = "A prompt that waited was" if count == 1 else f"{count} prompts that waited were"
            files = ", with its files" if any(one.attachments for one in waited) else ""
            self._chat.view.note(f"{what} not sent. Up brings the text back{files}.", "warning")

    def save(self) -> None:
        """Keep the text being written and the waiting prompts, in case the program is killed."""
        prompts, chat_id = now = self._now, self._chat.conversation.chat.id
        if now != self._kept and not self._ended:
            self._kept = now
            file, rows = self._being_written, [asdict(one) for one in prompts]
            self._chat.history.ask(lambda _: file.keep([chat_id, rows]) if rows else file.drop())

    def end(self) -> None:
        """Hand the unsent prompts to the history, for the next run."""
        prompts, chat_id = self._now, self._chat.conversation.chat.id
        self._ended = True

        def end(history: History) -> None:
            keep_unsent(history, prompts, chat_id)
            self._being_written.drop()

        self._chat.history.ask(end)

    @property
    def lost(self) -> list[Unsent]:
        """The prompts that the next run cannot put back, because nothing can be saved."""
        return self._now if self._chat.history.is_failing else []

    @property
    def _now(self) -> list[Unsent]:
        if not self._chat.conversation.is_kept:
            return []
        before = [self._aside] if self._chat.editing else []
        written = Unsent(self._prompt.area.text, self._prompt.attachments)
        return _worth_keeping([*self._chat.queued, *before, written])

    async def put_back(self, chat_id: str | None) -> None:
        """Put the last unsent prompt of a chat, or without an id of unsaved chats, into an empty input."""
        prompt, ask = self._prompt, self._chat.history.ask
        try:
            found = await asyncio.wrap_future(ask(lambda history: unsent(history, chat_id)))
        except AppError:
            return  # the history's thread has reported it
        if found and prompt.is_attached and not prompt.area.text:
            written = [one for one in found if one.text]
            for one in written:
                prompt.past.add(one.text, one.attachments)
            if written:
                prompt.fill(written[-1].text)
                more = f" Up brings {len(written) - 1} more." if len(written) > 1 else ""
                self._chat.view.note(f"The prompt below is not sent yet.{more}")
            prompt.attach(*found[-1].attachments)
            ask(lambda history: gave_back(history, chat_id))

    def _take_over(self, history: History) -> None:
        """Give the history the prompts of programs that were killed."""
        left = tuple[str, list[Unsent]]
        self._being_written.take_over(left, lambda found: keep_unsent(history, found[1], found[0]))

    def _keep(self, prompts: list[Unsent]) -> None:
        if self._chat.conversation.is_kept and (kept := _worth_keeping(prompts)):
            self._chat.history.ask(lambda history: keep_unsent(history, kept))


def _worth_keeping(prompts: list[Unsent]) -> list[Unsent]:
    # A half-typed command is not worth recalling with Up.
    texts = [replace(one, text="") if one.text.startswith("/") else one for one in prompts]
    return [one for one in texts if one.text.strip() or one.attachments]
