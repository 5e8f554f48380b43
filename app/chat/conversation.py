"""The chat as the screen keeps it: a tree of messages, saved as it changes. It outlives the engine."""

from collections.abc import Iterable
from dataclasses import replace

from app.chat.settings import Settings
from app.engine.chat_prompt import Message
from app.history.export import fenced
from app.history.records import (
    AnswerFacts,
    Attachment,
    Chat,
    ChatMessage,
    new_id,
    now,
    title_of,
)
from app.history.saving import HistoryThread
from app.history.tree import MessageTree


class Conversation:
    """One chat and its branch in view."""

    def __init__(self, history: HistoryThread, chat: Chat, messages: Iterable[ChatMessage] = ()) -> None:
        self.tree = MessageTree(messages)
        self.chat = chat if chat.leaf in self.tree else replace(chat, leaf=self.tree.end_of(None))
        self._history = history

    @classmethod
    def begin(cls, history: HistoryThread, settings: Settings, system: str = "") -> "Conversation":
        """An empty chat; nothing is saved before its first prompt."""
        time = now()
        chat = Chat(
            new_id(), "", time, time, system=system, options=settings.options, drafting=settings.drafting
        )
        return cls(history, chat)

    @property
    def system(self) -> str:
        """Instructions that precede every turn; empty for none."""
        return self.chat.system

    @property
    def settings(self) -> Settings:
        return Settings(self.chat.options, self.chat.drafting)

    @property
    def path(self) -> list[ChatMessage]:
        """The messages of the branch in view, oldest first."""
        return self.tree.path(self.chat.leaf)

    @property
    def last(self) -> ChatMessage | None:
        """The last prompt of the branch in view."""
        return next((m for m in reversed(self.path) if m.role == "user"), None)

    @property
    def last_answer(self) -> ChatMessage | None:
        """The last answer of the branch in view."""
        return next((m for m in reversed(self.path) if m.role == "assistant"), None)

    def messages(self, prompt: ChatMessage | None = None) -> list[Message]:
        """What the model reads to answer a prompt, the last one if none is named."""
        prompt = prompt or self.last
        out: list[Message] = []
        if self.system:
            out.append({"role": "system", "content": self.system})
        for message in self.tree.path(prompt.id) if prompt else ():
            if message.role == "user" and out and out[-1]["role"] == "user":
                # A prompt that was never answered: chat templates want turns.
                out.append({"role": "assistant", "content": ""})
            files = [fenced(attachment) for attachment in message.attachments]
            out.append({"role": message.role, "content": "\n\n".join([*files, message.text])})
        return out

    def documents(self, prompt: ChatMessage) -> list[str]:
        """The texts attached on the way to a prompt."""
        return [a.text for message in self.tree.path(prompt.id) for a in message.attachments]

    def ask(
        self, text: str, attachments: Iterable[Attachment] = (), *, instead_of: ChatMessage | None = None
    ) -> ChatMessage:
        """Add a prompt at the end of the branch in view, or beside another one."""
        parent = self.chat.leaf if instead_of is None else instead_of.parent
        prompt = ChatMessage(new_id(), self.chat.id, parent, "user", text, now(), tuple(attachments))
        title = self.chat.title or title_of(text)
        self.chat = replace(self.chat, title=title)
        return self._put(prompt)

    def begin_answer(self, prompt: ChatMessage, facts: AnswerFacts) -> ChatMessage:
        """Add an empty answer to a prompt; it is saved once it has changed."""
        answer = ChatMessage(new_id(), self.chat.id, prompt.id, "assistant", "", now(), (), facts)
        self.tree.put(answer)
        self.chat = replace(self.chat, leaf=answer.id)
        return answer

    def change(self, message: ChatMessage) -> ChatMessage:
        """Give a message its new value; the branch in view does not change."""
        return self._put(message, select=False)

    def forget(self, message: ChatMessage) -> None:
        """Take a message out that came to nothing; one beside it, or what precedes it, is in view."""
        self.tree.remove(message)
        others = self.tree.branches(message)
        leaf = self.tree.end_of(others[-1].id) if others else message.parent
        title = self.chat.title if len(self.tree) else ""
        self.chat = replace(self.chat, leaf=leaf, title=title)
        self._history.ask(lambda history: history.forget(message))

    def stand_at(self, message: ChatMessage) -> None:
        """Bring the branch that goes through a message into view."""
        self.chat = replace(self.chat, leaf=self.tree.end_of(message.id))
        self.save()

    def set_up(self, *, system: str | None = None, settings: Settings | None = None) -> None:
        """Change the instructions or the options of this chat."""
        if system is not None:
            self.chat = replace(self.chat, system=system)
        if settings is not None:
            self.chat = replace(self.chat, options=settings.options, drafting=settings.drafting)
        self.save()

    def rename(self, title: str) -> None:
        self.chat = replace(self.chat, title=title)
        if len(self.tree):
            chat_id = self.chat.id
            self._history.ask(lambda history: history.rename(chat_id, title))

    def save(self) -> None:
        """Have the chat itself written; an empty one is not kept."""
        if len(self.tree):
            self._history.put(self.chat)

    def save_all(self) -> None:
        """Have everything written again, into a file that began anew."""
        if len(self.tree):
            self._history.put(self.chat, *self.tree.values())

    def _put(self, message: ChatMessage, *, select: bool = True) -> ChatMessage:
        self.tree.put(message)
        leaf = message.id if select else self.chat.leaf
        self.chat = replace(self.chat, leaf=leaf, changed=now())
        self._history.put(self.chat, message)
        return message
