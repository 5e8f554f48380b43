"""The commands on saved chats, without a screen, where the history cannot be used or was replaced."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.chat.conversation import Conversation
from app.chat.saved_chats import SavedChats
from app.chat.settings import Settings
from app.history import database
from app.history.saving import HistoryThread
from app.settings.options import AnswerOptions
from app.shell.errors import AppError


class Saved(SavedChats):
    """The commands, with one chat in view; `trouble` is called as the history's thread tells of some."""

    def __init__(self, path: Path) -> None:
        self.trouble: Callable[[], None] = lambda: None
        self.history = HistoryThread(path, lambda news: self.trouble())
        self.conversation = self.begin("In view")
        view = SimpleNamespace(offer=lambda text: None)
        self.open: Any = SimpleNamespace(history=self.history, conversation=self.conversation, view=view)
        nothing: Any = None
        super().__init__(self.open, str, nothing, nothing, nothing)

    def begin(self, prompt: str) -> Conversation:
        conversation = Conversation.begin(self.history, Settings(AnswerOptions()))
        conversation.ask(prompt)
        return conversation

    async def titles(self) -> list[str]:
        return sorted([row.chat.title for row in await self.rows("", archived=False)])

    async def refused(self, work: Awaitable[object]) -> str:
        with pytest.raises(AppError) as refusal:
            await work
        return str(refusal.value)


def locked(path: Path) -> sqlite3.Connection:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


async def test_undo_brings_the_same_chat_back_once_the_history_can_be_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    saved = Saved(tmp_path / "history.db")
    for title in ("First", "Second"):
        await saved.delete(saved.begin(title).chat)
    other = locked(tmp_path / "history.db")
    assert "database is locked" in await saved.refused(saved.undo())
    other.close()
    assert await saved.undo() == "'Second' is back."
    assert await saved.titles() == ["In view", "Second"]
    saved.history.close()


async def test_undo_says_when_a_chat_went_with_the_file_of_the_history(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "history.db")
    await saved.delete(saved.begin("First").chat)
    for file in tmp_path.glob("history.db*"):
        file.unlink()
    assert await saved.refused(saved.undo()) == "'First' is not in the history any more."
    saved.history.close()


async def test_a_chat_is_renamed_and_archived_also_while_it_could_not_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    saved = Saved(tmp_path / "history.db")
    for change in (lambda chat: saved.rename(chat, "Named"), saved.archive):
        await saved.titles()  # all is written
        saved.trouble = locked(tmp_path / "history.db").close  # after the write of the chat has failed
        conversation = saved.open.conversation = saved.begin("A prompt")
        await change(conversation.chat)
    assert await saved.titles() == ["In view", "Named"]
    assert [row.chat.title for row in await saved.rows("", archived=True)] == ["A prompt"]
    saved.history.close()
