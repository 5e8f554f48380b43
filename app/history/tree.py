"""A chat's messages as a tree: every edit and every regenerated answer is another branch."""

from collections.abc import Iterable

from app.history.records import ChatMessage


class MessageTree(dict[str | None, ChatMessage]):
    """Messages by id, children in the order they were written. A lost parent makes a message a root."""

    def __init__(self, messages: Iterable[ChatMessage] = ()) -> None:
        self._children: dict[str | None, list[str]] = {None: []}
        for message in messages:
            self.put(message)

    def put(self, message: ChatMessage) -> None:
        """Add a message, or replace one in its place."""
        if message.id not in self:
            self._children[self._parent(message)].append(message.id)
            self._children[message.id] = []
        self[message.id] = message

    def remove(self, message: ChatMessage) -> None:
        self._children[self._parent(message)].remove(message.id)
        del self._children[message.id], self[message.id]

    def path(self, leaf: str | None) -> list[ChatMessage]:
        """Messages from the root to this one; a cycle, which a damaged file may have, is followed once."""
        out: dict[str | None, ChatMessage] = {}
        while leaf in self and leaf not in out:
            out[leaf] = self[leaf]
            leaf = out[leaf].parent
        return [*out.values()][::-1]

    def branches(self, message: ChatMessage) -> list[ChatMessage]:
        """The message and the others with its parent, oldest first."""
        return [self[i] for i in self._children[self._parent(message)]]

    def end_of(self, message_id: str | None) -> str | None:
        """The end of the branch through this message, taking the newest child each time."""
        while self._children.get(message_id):
            message_id = self._children[message_id][-1]
        return message_id

    def _parent(self, message: ChatMessage) -> str | None:
        return message.parent if message.parent in self else None


def parents_first(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The messages in their order, but each behind its parent: a new file may begin with the latest ones."""
    rest: dict[str | None, ChatMessage] = {message.id: message for message in messages}
    out: list[ChatMessage] = []
    for message in [*rest.values()]:
        path, place = list[ChatMessage](), message.id
        while above := rest.pop(place, None):
            path.append(above)
            place = above.parent
        out += reversed(path)
    return out
