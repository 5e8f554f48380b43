"""The chats on disk: every question to the history waits off the caller's thread."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from app.chat.conversation import Conversation
from app.history.export import import_file, write
from app.history.records import Chat, ChatMessage, ChatRow
from app.history.saving import HistoryThread
from app.history.store import History
from app.history.unsent import unsent
from app.shell.errors import BadInput
from app.shell.named_file import plain_file

T = TypeVar("T")


class SavedChats:
    """Finds, renames, archives, deletes and exports chats; the one in view stays in step."""

    def __init__(
        self, history: HistoryThread, in_view: Callable[[], Conversation], leave: Callable[[], None]
    ) -> None:
        """`leave` puts an empty chat into view: one that is deleted must not be written again."""
        self._history = history
        self._in_view = in_view
        self._leave = leave
        self._deleted: list[Chat] = []
        """Those `undo` brings back, the last one last."""

    async def ask(self, work: Callable[[History], T]) -> T:
        """Have the history's thread do something, and wait for its result."""
        return await asyncio.wrap_future(self._history.ask(work))

    async def rows(self, text: str, *, archived: bool) -> list[ChatRow]:
        """The chats that fit a search, or all."""
        if text.strip():
            return await self.ask(lambda history: history.search(text))
        return await self.ask(lambda history: history.chats(archived=archived))

    async def last(self) -> Chat | None:
        """The chat before the one in view."""
        rows = await self.ask(lambda history: history.chats(limit=2))
        return next((row.chat for row in rows if not self._is_in_view(row.chat)), None)

    async def has_unsent(self, chat: Chat) -> bool:
        """Whether a prompt was written in it and not sent."""
        return bool(await self.ask(lambda history: unsent(history, chat.id)))

    async def find(self, name: str) -> tuple[Chat, list[ChatMessage]]:
        """A chat by the beginning of its id, or the `last` one.

        Raises:
            BadInput: there is none.
        """
        found = await self.last() if name == "last" else await self.ask(lambda h: h.find(name))
        if found is None:
            raise BadInput("There is no other chat yet.")
        return found, await self.ask(lambda history: history.messages(found))

    async def rename(self, chat: Chat, title: str) -> None:
        if self._is_in_view(chat):
            self._in_view().rename(title)
        await self.ask(lambda history: history.rename(chat.id, title))

    async def archive(self, chat: Chat) -> bool:
        """Put a chat into the archive, or take it out; return whether it is there now."""
        archived = not chat.archived
        await self.ask(lambda history: history.archive(chat.id, archived))
        if self._is_in_view(chat):
            self._in_view().chat = replace(self._in_view().chat, archived=archived)
        return archived

    async def delete(self, chat: Chat) -> None:
        if self._is_in_view(chat):
            self._leave()
        await self.ask(lambda history: history.delete(chat.id))
        self._deleted.append(chat)

    async def undo(self) -> Chat:
        """Bring the chat back that was deleted last.

        Raises:
            BadInput: none was.
        """
        if not self._deleted:
            raise BadInput(
                "Nothing was deleted since the start. `mlx-spec history list --deleted` has the rest."
            )
        chat = self._deleted.pop()
        await self.ask(lambda history: history.restore(chat.id))
        return chat

    async def export(self, chat: Chat, kind: Literal["markdown", "json"], file: str = "") -> Path:
        """Write a chat into a file, one in the working folder if none is named; return it."""
        path = plain_file(file) if file else None
        return await self.ask(lambda h: write(chat, h.messages(chat), kind, path))

    async def import_file(self, file: str) -> tuple[int, int]:
        """Add the chats of an exported file; return how many were new, and how many were there already."""
        path = plain_file(file)
        return await self.ask(lambda history: import_file(history, path))

    def _is_in_view(self, chat: Chat) -> bool:
        return chat.id == self._in_view().chat.id
