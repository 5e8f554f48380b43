"""Commands on the saved chats: list, rename, archive, delete, export. The history's thread does the work."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from app.chat.open_chat import OpenChat
from app.history.export import Kind, exported, free_file, import_file, not_sent
from app.history.records import Chat, ChatMessage, ChatRow, Preset
from app.history.saving import News
from app.history.store import History
from app.history.unsent import Unsent, unsent
from app.settings.options import SAMPLING, unobeyed
from app.shell.errors import AppError, BadInput
from app.shell.named_file import plain_file, write_text
from app.shell.number_text import counted
from app.shell.printable import one_line

T = TypeVar("T")

NOT_SAVED = "Nothing was done: this chat could not be saved yet."


class SavedChats:
    """Used by slash commands and the list of chats; the chat in view is kept up to date.

    A method returns what was done as a sentence, or raises `BadInput`.
    """

    def __init__(
        self,
        chat: OpenChat,
        fill_in: Callable[[str], str],
        put_back_unsent: Callable[[str], Awaitable[None]],
        exports: Callable[[], Path],
        may_replace: Callable[[Path], Awaitable[bool]],
    ) -> None:
        """`fill_in` puts key names into a sentence; `put_back_unsent` restores a chat's unsent prompts;
        `exports` finds the folder for exports without a file name; `may_replace` asks before replacing a
        file.
        """
        self._chat = chat
        self._exports = exports
        self._may_replace = may_replace
        self._fill_in = fill_in
        self._put_back_unsent = put_back_unsent
        self.deleted: list[Chat] = []
        """Since the start; `undo` brings the last one back."""
        self.presets: list[str] = []
        """Their names, as they were when they were read last."""

    async def rows(self, text: str, *, archived: bool) -> list[ChatRow]:
        """The chats that match `text`, or all, with those that could not be saved, if it is blank."""
        if text.strip():
            return await self._ask(lambda history: history.search(text))
        rows = await self._ask(lambda history: history.chats(archived=archived))
        saved = {row.chat.id for row in rows}
        new = [(chat, its) for chat, its in self._chat.history.waiting if chat.id not in saved]
        return [*rows, *(ChatRow(chat, len(its), _pair(its)) for chat, its in new if not archived)]

    def current(self) -> Chat:
        if not len(self._chat.conversation.tree):
            raise BadInput("This chat is still empty. Send a prompt first.")
        return self._chat.conversation.chat

    def kept(self) -> Chat:
        if not self._chat.conversation.is_kept:
            raise BadInput("This chat is temporary: nothing of it is on disk. /export writes it to a file.")
        return self.current()

    async def rename(self, chat: Chat, title: str) -> str:
        title = one_line(title)
        if not title:
            raise BadInput("Give the title: /rename TITLE")
        if is_in_view := self._is_in_view(chat):
            conversation = self._chat.conversation
            conversation.put(replace(conversation.chat, title=title))
        if not await self._ask(lambda history: history.rename(chat.id, title)) and not is_in_view:
            raise BadInput(NOT_SAVED)
        return f"The chat is now '{title}'."

    async def archive(self, chat: Chat) -> str:
        archived = not chat.archived
        is_saved = await self._ask(lambda history: history.archive(chat.id, archived))
        if self._is_in_view(chat):
            conversation = self._chat.conversation
            conversation.put(replace(conversation.chat, archived=archived))
        elif not is_saved:
            raise BadInput(NOT_SAVED)
        where = self._fill_in("in the archive ({sessions.archived} in the list of chats shows it)")
        return f"'{chat.title}' is {where if archived else 'out of the archive'}."

    async def delete(self, chat: Chat) -> str:
        if not await self._ask(lambda history: history.delete(chat.id)):
            raise BadInput(NOT_SAVED)
        if self._is_in_view(chat):
            self._chat.clear()  # this may save it again
            await self._ask(lambda history: history.delete(chat.id))
        self.deleted.append(chat)
        await self.offer_last()
        undo = self._fill_in("/undo, or {sessions.undo} in the list of chats, brings it back.")
        return f"Deleted '{chat.title}'. {undo}"

    async def undo(self) -> str:
        """Restore the chat deleted last, and open it if the chat in view is empty."""
        if not self.deleted:
            raise BadInput(
                "No chat was deleted since the start. `mlx-spec history list --deleted` lists earlier ones."
            )
        chat = self.deleted.pop()
        try:
            is_there = await self._ask(lambda history: history.restore(chat.id))
        except AppError:
            self.deleted.append(chat)
            raise
        if not is_there:
            raise BadInput(f"'{chat.title}' is not in the history any more.")
        if not len(self._chat.conversation.tree):
            await self.resume(chat.id)
        return f"'{chat.title}' is back."

    async def export(self, chat: Chat, kind: Kind, file: str = "") -> str:
        """Write a chat to a file, or to a new one in a folder; asks before it replaces one."""
        messages = await self._messages(chat)

        def write(place: Path) -> str:
            write_text(place, exported([(chat, messages)], kind))
            return f"Written to {place.resolve()}."

        place = plain_file(file) if file else self._exports()
        if not file or os.path.isdir(place):
            return await asyncio.to_thread(lambda: write(free_file(place, chat, kind)))
        if file.endswith("/"):  # a path does not keep it: a file would get the folder's name
            raise BadInput(f"Nothing was written: there is no folder {file}.")
        if os.path.isfile(place) and not await self._may_replace(place):
            return f"Nothing was written: {place} is as it was."
        return await asyncio.to_thread(write, place)

    def rescue(self, prompts: Sequence[Unsent]) -> Path | None:
        """Write the unsaved messages, with the whole chat in view, and prompts that were not sent to a new
        file; None if that fails too."""
        view = self._chat.conversation
        chats = [
            (view.chat, list(view.tree.values())) if self._is_in_view(chat) else (chat, messages)
            for chat, messages in self._chat.history.waiting
        ]
        file = free_file(self._exports(), chats[-1][0] if chats else view.chat, "markdown")
        try:
            write_text(file, "\n".join(filter(None, (exported(chats, "markdown"), not_sent(prompts)))))
        except AppError:
            return None
        return file

    async def _messages(self, chat: Chat) -> list[ChatMessage]:
        """A chat's messages, also those that could not be saved."""
        if self._is_in_view(chat):
            return list(self._chat.conversation.tree.values())
        saved = await self._ask(lambda history: history.messages(chat))
        new = [message for of, its in self._chat.history.waiting if of.id == chat.id for message in its]
        return [*{message.id: message for message in (*saved, *new)}.values()]

    async def import_file(self, file: str) -> str:
        if not file:
            raise BadInput("Name the file: /import FILE")
        path = plain_file(file)
        added, known = await self._ask(lambda history: import_file(history, path))
        return f"{counted(added, 'chat')} added, {known} there already."

    async def offer_last(self) -> None:
        """Show in an empty chat which key resumes the last one, if there is one."""
        try:
            chat = await self._last()
            left = chat is not None and await self._ask(lambda history: unsent(history, chat.id))
        except AppError:
            return  # the history's thread has reported it
        if len(self._chat.conversation.tree):
            return
        if chat is None:
            self._chat.view.offer("")
        else:
            last, others = self._fill_in("{chat.resume_last}"), self._fill_in("{chat.sessions}")
            also = ", where a prompt was not sent" if left else ""
            self._chat.view.offer(f"{last} goes on with '{chat.title}'{also}. {others} lists all chats.")

    async def resume(self, name: str) -> None:
        """Open a chat by the beginning of its id, or the `last` one."""
        unsaved = next((chat for chat, _ in self._chat.history.waiting if chat.id == name), None)
        found = await self._last() if name == "last" else unsaved or await self._ask(lambda h: h.find(name))
        if found is None:
            archive = self._fill_in("{sessions.archived} in it shows the archive.")
            raise BadInput(f"There is no other chat. {archive}")
        if self._is_in_view(found):  # what is being written is not all saved
            raise BadInput(f"'{found.title}' is open already.")
        chat = self._chat
        chat.resume(found, await self._messages(found))
        answer, pair = chat.conversation.last_answer, chat.link.pair.name
        if answer is not None and answer.facts is not None and answer.facts.pair != pair:
            text = f"Written with {answer.facts.pair}; {one_line(pair)} answers from here on. "
            chat.view.note(text + self._fill_in("{app.pairs} changes it."))
        if chat.conversation.path[-1:] == [chat.conversation.last]:
            chat.view.note("The last prompt was not answered. /regenerate answers it.", "warning")
        self.note_think()
        await self._put_back_unsent(found.id)

    def note_think(self) -> None:
        """Say so if the model, once it is open, does not obey the chat's `think`."""
        info, think = self._chat.link.info, self._chat.settings.options.think
        if info and (note := unobeyed(think, info.name, info.thinks)):
            self._chat.view.note(note, "warning")

    async def read_presets(self) -> dict[str, Preset]:
        """The presets by name."""
        found = {preset.name: preset for preset in await self._ask(lambda history: history.presets())}
        self.presets = list(found)
        return found

    async def preset(self, value: str) -> str:
        verb, _, name = value.partition(" ")
        name = name.strip()
        presets = await self.read_presets()
        if value in ("", "save", "delete") and value not in presets:
            uses = f"{', '.join(presets)}. /preset NAME uses one" if presets else "none yet"
            kept = "the instructions and sampling of this chat, without its seed"
            return f"Presets: {uses}. /preset save NAME keeps {kept}."
        if verb == "save" and name:
            if name.split()[0] in ("save", "delete"):
                raise BadInput(f"Nothing was saved: a preset's name cannot begin with '{name.split()[0]}'.")
            preset = Preset(name, self._chat.conversation.system, self._chat.settings.options)
            await self._ask(lambda history: history.save_preset(preset))
            await self.read_presets()
            instead = ", in place of the one of that name" if name in presets else ""
            return f"Preset '{name}' is saved, without the seed{instead}."
        if verb == "delete" and name:
            if await self._ask(lambda history: history.delete_preset(name)):
                await self.read_presets()
                return f"Preset '{name}' is deleted."
            value = name
        if value not in presets:
            raise BadInput(f"There is no preset '{value}'. /preset lists them.")
        return self._use(presets[value])

    def report_saving(self, news: News) -> None:
        """Report a change in saving; a new history file gets the whole chat in view."""
        self._chat.view.note(news.text, "info" if news.kind == "resumed" else "error")
        if news.kind == "new file":
            self._chat.conversation.save_all()

    async def _ask(self, work: Callable[[History], T]) -> T:
        return await asyncio.wrap_future(self._chat.history.ask(work))

    async def _last(self) -> Chat | None:
        rows = await self._ask(lambda history: history.chats(limit=2))
        unsaved = [chat for chat, _ in reversed(self._chat.history.waiting)]
        chats = [*unsaved, *(row.chat for row in rows)]
        return next((chat for chat in chats if not self._is_in_view(chat)), None)

    def _use(self, preset: Preset) -> str:
        """Answer with its instructions and sampling; the seed and the drafting stay as they are."""
        chat, before, had = self._chat, self._chat.settings, self._chat.conversation.system
        chat.instruct(preset.system)
        sampling = {name: getattr(preset.options, name) for name in SAMPLING if name != "seed"}
        chat.change_settings(replace(before, options=replace(before.options, **sampling)))
        self.note_think()
        changed = ", ".join(chat.settings.differences(before))
        what = f": {changed}." if changed else "."
        if preset.system or had:
            what += f" Instructions: {preset.system or 'none'}"
        return f"Preset '{preset.name}' is in use from the next answer on{what}"

    def _is_in_view(self, chat: Chat) -> bool:
        return chat.id == self._chat.conversation.chat.id


def _pair(messages: Sequence[ChatMessage]) -> str:
    """The pair of the last answer; empty if there is none."""
    return next((message.facts.pair for message in reversed(messages) if message.facts), "")
