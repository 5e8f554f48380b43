"""A chat's messages as a tree: every edit and every regenerated answer is another branch."""

from collections.abc import Iterable, Iterator

from app.history.records import ChatMessage


class MessageTree:
    """Messages by id, children in the order they were written. A lost parent makes a message a root."""

    def __init__(self, messages: Iterable[ChatMessage] = ()) -> None:
        self._messages: dict[str, ChatMessage] = {}
        self._children: dict[str | None, list[str]] = {None: []}
        for message in messages:
            self.put(message)

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: str | None) -> bool:
        return message_id in self._messages

    def __getitem__(self, message_id: str | None) -> ChatMessage:
        return self._messages[message_id or ""]

    def __iter__(self) -> Iterator[ChatMessage]:
        return iter(self._messages.values())

    def put(self, message: ChatMessage) -> None:
        """Add a message, or give one another value; its place does not change."""
        if message.id not in self._messages:
            self._children[self._parent(message)].append(message.id)
            self._children[message.id] = []
        self._messages[message.id] = message

    def remove(self, message: ChatMessage) -> None:
        self._children[self._parent(message)].remove(message.id)
        del self._children[message.id], self._messages[message.id]

    def path(self, leaf: str | None) -> list[ChatMessage]:
        """From the root to this message; from where it began if messages of a damaged file go in a ring."""
        out: dict[str, ChatMessage] = {}
        while leaf is not None and leaf in self._messages and leaf not in out:
            out[leaf] = self._messages[leaf]
            leaf = out[leaf].parent
        return [*out.values()][::-1]

    def branches(self, message: ChatMessage) -> list[ChatMessage]:
        """The message and the others with its parent, oldest first."""
        return [self._messages[i] for i in self._children[self._parent(message)]]

    def end_of(self, message_id: str | None) -> str | None:
        """Where the branch that goes through this message ends, taking the newest child each time."""
        while self._children.get(message_id):
            message_id = self._children[message_id][-1]
        return message_id

    def _parent(self, message: ChatMessage) -> str | None:
        return message.parent if message.parent in self._messages else None
