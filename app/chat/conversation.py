"""A chat in memory: a tree of messages, saved as it changes. It outlives the engine."""

from collections.abc import Iterable
from dataclasses import replace

from app.chat.settings import Settings
from app.engine.chat_prompt import Message
from app.history.export import fenced
from app.history.records import AnswerFacts, Attachment, Chat, ChatMessage, new_id, now, title_of
from app.history.saving import HistoryThread
from app.history.tree import MessageTree


class Conversation:
    def __init__(
        self,
        history: HistoryThread,
        chat: Chat,
        messages: Iterable[ChatMessage] = (),
        *,
        is_kept: bool = True,
    ) -> None:
        """`is_kept`: if False, nothing is ever written to disk."""
        self.tree = MessageTree(messages)
        self.chat = chat if chat.leaf in self.tree else replace(chat, leaf=self.tree.end_of(None))
        self.is_kept = is_kept
        self._history = history

    @classmethod
    def begin(
        cls, history: HistoryThread, settings: Settings, system: str = "", *, is_kept: bool = True
    ) -> "Conversation":
        """An empty chat; nothing is saved before its first prompt."""
        time = now()
        conversation = cls(history, Chat(new_id(), "", time, time), is_kept=is_kept)
        conversation.set_up(system=system, settings=settings)
        return conversation

    @property
    def system(self) -> str:
        return self.chat.system

    @property
    def path(self) -> list[ChatMessage]:
        return self.tree.path(self.chat.leaf)

    @property
    def last(self) -> ChatMessage | None:
        return next((m for m in reversed(self.path) if m.role == "user"), None)

    @property
    def last_answer(self) -> ChatMessage | None:
        return next((m for m in reversed(self.path) if m.role == "assistant"), None)

    def messages(self, prompt: ChatMessage | None) -> list[Message]:
        out: list[Message] = []
        if self.system:
            out.append({"role": "system", "content": self.system})
        for message in self.tree.path(prompt.id) if prompt else ():
            if message.role == "user" and out and out[-1]["role"] == "user":
                # The previous prompt was never answered: chat templates need alternating roles.
                out.append({"role": "assistant", "content": ""})
            files = [fenced(attachment) for attachment in message.attachments]
            out.append({"role": message.role, "content": "\n\n".join([*files, message.text])})
        return out

    def documents(self, prompt: ChatMessage) -> list[str]:
        return [a.text for message in self.tree.path(prompt.id) for a in message.attachments]

    def ask(
        self, text: str, attachments: Iterable[Attachment] = (), *, instead_of: ChatMessage | None = None
    ) -> ChatMessage:
        """Add a prompt at the end of the branch in view, or as a branch beside `instead_of`."""
        parent = self.chat.leaf if instead_of is None else instead_of.parent
        prompt = ChatMessage(new_id(), self.chat.id, parent, "user", text, now(), tuple(attachments))
        self.chat = replace(self.chat, title=self.chat.title or title_of(text), leaf=prompt.id)
        return self.change(prompt)

    def begin_answer(self, prompt: ChatMessage, facts: AnswerFacts) -> ChatMessage:
        """Add an empty answer to a prompt; it is saved once it has changed."""
        answer = ChatMessage(new_id(), self.chat.id, prompt.id, "assistant", "", now(), (), facts)
        self.tree[answer.id] = answer
        self.chat = replace(self.chat, leaf=answer.id)
        return answer

    def change(self, message: ChatMessage) -> ChatMessage:
        """Give a message its new value; the branch in view does not change."""
        self.tree[message.id] = message
        self.chat = replace(self.chat, changed=now())
        self._put(message)
        return message

    def forget(self, message: ChatMessage) -> None:
        """Remove a message that has no result; the branch beside it, or its parent, comes into view."""
        del self.tree[message.id]
        others = self.tree.branches(message)
        leaf = self.tree.end_of(others[-1].id) if others else message.parent
        self.chat = replace(self.chat, leaf=leaf, title=self.chat.title if len(self.tree) else "")
        if self.is_kept:
            self._history.forget(message)

    def show_branch(self, message: ChatMessage) -> None:
        self.put(replace(self.chat, leaf=self.tree.end_of(message.id)))

    def set_up(self, *, system: str | None = None, settings: Settings | None = None) -> None:
        chat = self.chat
        if system is not None:
            chat = replace(chat, system=system)
        if settings is not None:
            options, drafting, seed = settings.options, settings.drafting, settings.keeps_seed
            chat = replace(chat, options=options, drafting=drafting, keeps_seed=seed)
        self.put(chat)

    def save_all(self) -> None:
        """Write everything again, into a new history file."""
        if len(self.tree):
            self._put(*self.tree.values())

    def put(self, chat: Chat) -> None:
        """Give the chat its new value; the history takes title and archive of a chat that it has not yet."""
        self.chat = chat
        if len(self.tree):  # an empty chat is not kept
            self._put()

    def _put(self, *messages: ChatMessage) -> None:
        if self.is_kept:
            self._history.put(self.chat, *messages)
