"""The history's thread: writes changes and runs queries, so that no other thread waits for the disk.

Changes that cannot be written are kept and tried again.
"""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from app.history.database import damaged, is_damage, is_in_place, set_aside, unusable
from app.history.records import Chat, ChatMessage
from app.history.store import History

SAVE_SECONDS = 0.5
"""Between two writes of a growing answer: a crash loses at most this much of it."""

RETRY_SECONDS = 5.0

CLOSE_SECONDS = 5.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class News:
    """A change in saving. After `new file`, everything in memory should be put again."""

    kind: Literal["failed", "resumed", "new file"]
    text: str


class HistoryThread:
    """Owns the open history. `put` and `ask` may be called from any thread."""

    def __init__(self, path: Path, tell: Callable[[News], None]) -> None:
        """`tell` is called on the history's own thread."""
        self.path = path
        self._tell = tell
        self._inbox: queue.SimpleQueue[
            tuple[Chat, tuple[ChatMessage, ...]] | ChatMessage | Callable[[], None] | None
        ] = queue.SimpleQueue()
        self._chats: dict[str, Chat] = {}
        self._messages: dict[tuple[str, str], ChatMessage] = {}
        self._forgotten: list[ChatMessage] = []
        """`_chats`, `_messages` and `_forgotten`: what is not written yet."""
        self._due = 0.0
        self.is_failing = False
        """Whether nothing can be saved now."""
        self._history: History | None = None
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    @property
    def unsaved(self) -> int:
        return len(self._messages)

    @property
    def waiting(self) -> list[tuple[Chat, list[ChatMessage]]]:
        """The chats with messages that are not written yet."""
        chats, messages = dict(self._chats), dict(self._messages)
        found = [(chat, [m for (of, _), m in messages.items() if of == chat.id]) for chat in chats.values()]
        return [(chat, its) for chat, its in found if its]

    def put(self, chat: Chat, *messages: ChatMessage) -> None:
        """Queue a chat and messages of it for writing; a later value replaces an earlier one."""
        self._inbox.put((chat, messages))

    def forget(self, message: ChatMessage) -> None:
        """Queue the removal of a message, and of its chat if it has no other; its id is not used again."""
        self._inbox.put(message)

    def ask(self, work: Callable[[History], T]) -> Future[T]:
        """Run `work` on the history after writing what was put; a disk error becomes an `AppError`."""
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work(self._opened()))
            except (sqlite3.Error, OSError) as error:
                future.set_exception(unusable(self.path, error))
            except Exception as error:  # for the caller to handle; this thread goes on
                future.set_exception(error)

        self._inbox.put(job)
        return future

    def flush(self) -> int:
        """Write all changes now; return how many messages could not be written."""
        left: Future[int] = Future()
        self._inbox.put(lambda: left.set_result(self.unsaved))  # later changes do not count
        try:
            return left.result(CLOSE_SECONDS)
        except TimeoutError:
            return self.unsaved

    def close(self) -> int:
        """Write all changes and end; return how many messages could not be written."""
        self._inbox.put(None)
        self._thread.join(CLOSE_SECONDS)
        return self.unsaved

    def _run(self) -> None:
        self._attempt(self._writable)
        while True:
            if self._has_changes and time.monotonic() >= self._due:
                self._attempt(self._write)
            wait = max(0.0, self._due - time.monotonic()) if self._has_changes else None
            try:
                item = self._inbox.get(timeout=wait)
            except queue.Empty:
                continue
            if isinstance(item, tuple):
                chat, messages = item
                self._chats[chat.id] = chat
                self._messages |= {(chat.id, message.id): message for message in messages}
                continue
            if isinstance(item, ChatMessage):
                self._messages.pop((item.chat, item.id), None)
                self._forgotten.append(item)
                continue
            self._attempt(self._write)
            if item is None:
                break
            item()
        if self._history is not None:
            self._history.close()

    @property
    def _has_changes(self) -> bool:
        return bool(self._chats or self._forgotten)

    def _writable(self) -> History:
        if self._history is not None and self._history.refusal is not None:
            self._history.close()  # it may be writable by now
            self._history = None
        history = self._opened()
        if history.refusal is not None:
            raise history.refusal
        return history

    def _opened(self) -> History:
        """The history, open at least for reading."""
        if self._history is not None and not is_in_place(self.path, self._history.file):
            self._history.close()
            self._history = None
            self._report_new_file(None)
        if self._history is None:
            self._history = History(self.path, to_read=True)
            if self._history.refusal is None:
                self._history.purge()
            if self._history.set_aside is not None:
                self._report_new_file(self._history.set_aside)
        return self._history

    def _write(self) -> None:
        if self._has_changes:
            history = self._writable()
            history.save(self._chats.values(), self._messages.values())
            self._chats.clear()
            self._messages.clear()
            while self._forgotten:
                history.forget(self._forgotten[-1])
                self._forgotten.pop()
        elif self.is_failing:
            self._writable()  # Without changes to write, this tests whether they could be.

    def _attempt(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                self._begin_anew()
            else:
                self._fail(f"{self.path}: {error}")
        except Exception as error:  # this thread goes on: without it every question would wait for ever
            self._fail(str(error))
        else:
            self._due = time.monotonic() + SAVE_SECONDS
            if self.is_failing:
                self.is_failing = False
                self._tell(News("resumed", "Chats are saved again; nothing is missing."))

    def _begin_anew(self) -> None:
        """Replace a file damaged while open. The listener puts its messages again."""
        broken, self._history = self._history, None
        assert broken is not None
        broken.close()
        try:
            aside = set_aside(self.path, broken.file)
        except OSError as error:
            self._fail(str(error))
        else:
            self._report_new_file(aside)

    def _fail(self, reason: str) -> None:
        self._due = time.monotonic() + RETRY_SECONDS
        if not self.is_failing:
            self.is_failing = True
            why = reason.removesuffix(".")
            text = f"Chats cannot be saved now, and go on in memory until they can: {why}."
            self._tell(News("failed", text))

    def _report_new_file(self, aside: Path | None) -> None:
        text = f"The chat history {self.path} was moved or removed. A new one began, with this chat in it."
        if aside is not None:
            text = damaged(aside)
        self._tell(News("new file", text))
