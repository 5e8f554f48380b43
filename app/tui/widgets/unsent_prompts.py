"""Prompts that were written and not sent: the next run of the program gives them back to their chat."""

import asyncio
from dataclasses import asdict, replace

from app.chat.open_chat import OpenChat
from app.history.store import History
from app.history.unsent import Unsent, gave_back, keep_unsent, unsent
from app.shell.errors import AppError
from app.shell.left_behind import LeftBehind
from app.tui.widgets.prompt import Prompt
from models.paths import data_folder


class UnsentPrompts:
    """Hands to the history what the prompt would lose, and brings it back. Nothing is sent here."""

    def __init__(self, chat: OpenChat, prompt: Prompt) -> None:
        self._chat = chat
        self._prompt = prompt
        self._aside = Unsent("")
        """What was being written when an earlier prompt came in its place."""
        self._being_written = LeftBehind(data_folder() / "unsent")
        self._kept: object = None
        self._ended = False
        chat.history.ask(self._take_over)

    def stash(self) -> bool:
        self._keep([Unsent(self._prompt.area.text)])
        return self._prompt.stash()

    def begin_editing(self, text: str) -> None:
        if self._chat.editing is None:
            self._aside = Unsent(self._prompt.area.text, self._prompt.take_attachments())
        self._prompt.fill(text)

    def leave_editing(self) -> None:
        """Return to what was written before; Up brings the edited text back."""
        self.stash()
        self._prompt.fill(self._aside.text)
        self._prompt.attach(*self._aside.attachments)

    def return_prompts(self, waited: list[Unsent]) -> None:
        """Put what was not sent into an empty prompt, or behind Up."""
        if self._prompt.area.text:
            self.keep(waited)
        elif waited:
            self._prompt.fill("\n".join(one.text for one in waited))
            self._prompt.attach(*(file for one in waited for file in one.attachments))

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
        """Keep what is being written and what waits, for the case that the program is killed."""
        prompts, chat_id = now = self._now, self._chat.conversation.chat.id
        if now != self._kept and not self._ended:
            self._kept = now
            file, rows = self._being_written, [asdict(one) for one in prompts]
            self._chat.history.ask(lambda _: file.keep([chat_id, rows]) if rows else file.drop())

    def end(self) -> None:
        prompts, chat_id = self._now, self._chat.conversation.chat.id
        self._ended = True

        def end(history: History) -> None:
            keep_unsent(history, prompts, chat_id)
            self._being_written.drop()

        self._chat.history.ask(end)

    def close(self) -> None:
        """For an end without `end`, as after a failure: the next run of the program has what is kept."""
        self._ended = True
        self._chat.history.ask(lambda _: self._being_written.close())

    @property
    def _now(self) -> list[Unsent]:
        if not self._chat.conversation.is_kept:
            return []
        before = [self._aside] if self._chat.editing else []
        written = Unsent(self._prompt.area.text, self._prompt.attachments)
        return _worth_keeping([*self._chat.queued, *before, written])

    async def put_back(self, chat_id: str | None) -> None:
        """Put the last unsent prompt of a chat, or of unsaved ones, into an empty prompt."""
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
                prompt.put_back(written[-1].text, len(written) - 1)
            prompt.attach(*found[-1].attachments)
            self._chat.view.show()
            ask(lambda history: gave_back(history, chat_id))

    def _take_over(self, history: History) -> None:
        """Give the history what programs left behind that were killed."""

        def take(left: tuple[str, list[Unsent]]) -> None:
            chat_id, prompts = left
            keep_unsent(history, prompts, chat_id)

        self._being_written.take_over(tuple[str, list[Unsent]], take)

    def _keep(self, prompts: list[Unsent]) -> None:
        if self._chat.conversation.is_kept and (kept := _worth_keeping(prompts)):
            self._chat.history.ask(lambda history: keep_unsent(history, kept))


def _worth_keeping(prompts: list[Unsent]) -> list[Unsent]:
    # A command half written is quicker written anew than walked past.
    texts = [replace(one, text="") if one.text.startswith("/") else one for one in prompts]
    return [one for one in texts if one.text.strip() or one.attachments]
