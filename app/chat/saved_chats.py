"""The chats on disk, as the app uses them: every question to the history waits off the screen's thread."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from app.history.export import import_file, write
from app.history.records import Chat, Preset, now
from app.history.rows import ChatRow
from app.history.saving import FileGone, FileSetAside, HistoryThread, News, SavingFailed, SavingResumed
from app.history.store import History
from app.history.unsent import unsent
from app.shell.ago import ago
from app.shell.counted import counted
from app.shell.errors import AppError, BadInput
from app.shell.printable import one_line
from app.shell.written_path import file_to_read, file_to_write

if TYPE_CHECKING:
    from app.tui.screens.chat import ChatScreen

T = TypeVar("T")


class SavedChats:
    """Finds, opens, removes and exports chats; what it did is said in the conversation."""

    def __init__(self, chat: "ChatScreen", history: HistoryThread) -> None:
        self._chat = chat
        self._history = history
        self._deleted: list[Chat] = []
        """Those `undo` brings back, the last one last."""

    async def rows(self, text: str, *, archived: bool) -> list[ChatRow]:
        """The chats that fit a search, or all."""
        if text.strip():
            return await self._ask(lambda history: history.search(text))
        return await self._ask(lambda history: history.chats(archived=archived))

    async def last(self) -> Chat | None:
        """The chat before the one in view."""
        rows = await self._ask(lambda history: history.chats(limit=2))
        others = [row.chat for row in rows if row.chat.id != self._chat.conversation.chat.id]
        return others[0] if others else None

    async def offer_last(self) -> None:
        """Say which key goes on with the last chat, if there is one."""
        try:
            chat = await self.last()
            left = chat is not None and await self._ask(lambda history: unsent(history, chat.id))
        except AppError:
            return  # the history's thread has told it
        if chat is not None and not len(self._chat.conversation.tree):
            last, others = (self._chat.app.keys.name(key) for key in ("chat.resume_last", "chat.sessions"))
            when = ago(chat.changed, now())
            also = ", where a prompt was not sent" if left else ""
            self._say(f"{last} goes on with '{chat.title}' ({when}){also}. {others} lists all chats.")

    async def resume(self, name: str) -> None:
        """Open a chat by the beginning of its id, or the last one.

        Raises:
            BadInput: there is none.
        """
        found = await self.last() if name == "last" else await self._ask(lambda h: h.find(name))
        if found is None:
            raise BadInput("There is no other chat yet.")
        messages = await self._ask(lambda history: history.messages(found))
        self._chat.resume(found, messages)
        await self._chat.unsent_prompts.put_back(found.id)

    def rename(self, title: str) -> None:
        if not title:
            raise BadInput("Give the title: /rename TITLE")
        self._chat.conversation.rename(one_line(title))
        self._say(f"This chat is now '{one_line(title)}'.")

    async def rename_other(self, chat: Chat, title: str) -> None:
        """Rename a chat of the list."""
        if chat.id == self._chat.conversation.chat.id:
            self._chat.conversation.rename(title)
        await self._ask(lambda history: history.rename(chat.id, title))

    async def archive(self, chat: Chat | None = None) -> bool:
        """Put a chat into the archive, or take it out; return whether it is there now."""
        chat = chat or self._current()
        archived = not chat.archived
        await self._ask(lambda history: history.archive(chat.id, archived))
        if chat.id == self._chat.conversation.chat.id:
            self._chat.conversation.chat = replace(self._chat.conversation.chat, archived=archived)
            self._say("This chat is in the archive." if archived else "This chat is out of the archive.")
        return archived

    async def delete(self, chat: Chat | None = None) -> None:
        """Delete a chat; one in view makes room for a new one."""
        chat = chat or self._current()
        in_view = chat.id == self._chat.conversation.chat.id
        if in_view:
            self._chat.clear()
        await self._ask(lambda history: history.delete(chat.id))
        self._deleted.append(chat)
        if in_view:
            self._say(f"Deleted '{chat.title}'. /undo brings it back.")

    async def undo(self, *, reopens: bool = False) -> Chat:
        """Bring the chat back that was deleted last; `reopens`: into view too, in place of an empty one.

        Raises:
            BadInput: none was.
        """
        if not self._deleted:
            raise BadInput(
                "Nothing was deleted since the start. `mlx-spec history list --deleted` has the rest."
            )
        chat = self._deleted.pop()
        await self._ask(lambda history: history.restore(chat.id))
        if reopens and not len(self._chat.conversation.tree):
            await self.resume(chat.id)
        self._say(f"'{chat.title}' is back.")
        return chat

    async def export(self, value: str) -> None:
        """`[markdown|json] [FILE]` of the chat in view."""
        kind, _, file = value.partition(" ")
        if kind not in ("markdown", "md", "json"):
            kind, file = ("json" if value.endswith(".json") else "markdown"), value
        path = await self.export_to(self._current(), "json" if kind == "json" else "markdown", file.strip())
        self._say(f"Written to {path}.")

    async def export_to(self, chat: Chat, kind: Literal["markdown", "json"], file: str = "") -> Path:
        """Write a chat into a file, one in the working folder if none is named; return it."""
        path = file_to_write(file) if file else None
        return await self._ask(lambda h: write(chat, h.messages(chat), kind, path))

    async def take_in(self, value: str) -> None:
        """Import a file."""
        if not value:
            raise BadInput("Name the file: /import FILE")
        path = file_to_read(value)
        added, known = await self._ask(lambda history: import_file(history, path))
        self._say(f"{counted(added, 'chat')} added, {known} there already.")

    async def preset(self, value: str) -> None:
        """List presets, use one, save what is set under a name, or delete one."""
        verb, _, name = value.partition(" ")
        chat = self._chat
        if not value:
            presets = await self._ask(lambda history: history.presets())
            names = ", ".join(preset.name for preset in presets)
            uses = f"{names}. /preset NAME uses one" if names else "none yet"
            self._say(f"Presets: {uses}. /preset save NAME keeps the instructions and sampling of this chat.")
        elif verb == "save" and name:
            preset = Preset(name.strip(), chat.conversation.system, chat.settings.options)
            await self._ask(lambda history: history.save_preset(preset))
            self._say(f"Preset '{preset.name}' is saved.")
        elif verb == "delete" and name:
            if not await self._ask(lambda history: history.delete_preset(name.strip())):
                raise BadInput(f"There is no preset '{name.strip()}'. /preset lists them.")
            self._say(f"Preset '{name.strip()}' is deleted.")
        else:
            presets = {preset.name: preset for preset in await self._ask(lambda h: h.presets())}
            if value not in presets:
                raise BadInput(f"There is no preset '{value}'. /preset lists them.")
            self._use(presets[value])

    def tell(self, news: News) -> None:
        """Say what became of saving; a new file gets everything that is in view."""
        match news:
            case SavingFailed(reason):
                why = reason.removesuffix(".")
                text = f"Chats cannot be saved now: {why}. The chat goes on in memory and is saved later."
                self._chat.transcript.note(text, "error")
            case SavingResumed():
                self._say("Chats are saved again; nothing is missing.")
            case FileSetAside(aside):
                text = f"The chat history was damaged. It is kept as {aside}, and a new one began."
                self._chat.transcript.note(text, "error")
                self._chat.conversation.save_all()
            case FileGone(path):
                text = f"The chat history {path} was moved or removed. A new one began, with this chat in it."
                self._chat.transcript.note(text, "error")
                self._chat.conversation.save_all()

    def _use(self, preset: Preset) -> None:
        chat = self._chat
        chat.conversation.set_up(system=preset.system)
        # The seed is no matter of taste; it stays.
        options = replace(preset.options, seed=chat.settings.options.seed)
        chat.change_settings(replace(chat.settings, options=options))
        system = f" Instructions: {preset.system}" if preset.system else ""
        self._say(f"Preset '{preset.name}' is in use from the next answer on.{system}")

    def _current(self) -> Chat:
        conversation = self._chat.conversation
        if not len(conversation.tree):
            raise BadInput("This chat is empty yet.")
        return conversation.chat

    def _say(self, text: str) -> None:
        self._chat.transcript.note(text)

    async def _ask(self, work: Callable[[History], T]) -> T:
        return await asyncio.wrap_future(self._history.ask(work))
