"""A chat's messages as a tree: every edit and every regenerated answer is another branch."""

from collections.abc import Iterable

from app.history.records import ChatMessage


class MessageTree(dict[str | None, ChatMessage]):
    """Messages by id, in the order they were written; a new file may have begun with the latest ones."""

    def __init__(self, messages: Iterable[ChatMessage] = ()) -> None:
        super().__init__((message.id, message) for message in messages)

    def path(self, leaf: str | None) -> list[ChatMessage]:
        """Messages from the root to this one; a cycle, which a damaged file may have, is followed once."""
        out: dict[str | None, ChatMessage] = {}
        while leaf in self and leaf not in out:
            out[leaf] = self[leaf]
            leaf = out[leaf].parent
        return [*out.values()][::-1]

    def branches(self, message: ChatMessage) -> list[ChatMessage]:
        """The message and the others with its parent, oldest first."""
        parent = self.parent(message)
        return [other for other in self.values() if self.parent(other) == parent]

    def end_of(self, message_id: str | None) -> str | None:
        """The end of the branch through this message, taking the newest child each time."""
        newest = {self.parent(message): message.id for message in self.values()}
        while message_id in newest:
            message_id = newest.pop(message_id)
        return message_id

    def parent(self, message: ChatMessage) -> str | None:
        """The parent's id; None for a root, which a message with a lost parent is too."""
        return message.parent if message.parent in self else None
