"""What sentences need to know of the keys."""

from typing import Protocol


class KeyNames(Protocol):
    """The keys that the person has, by binding id."""

    def name(self, binding: str) -> str:
        """The first key of a binding, as people read it: `Ctrl+T`."""
        ...

    def told(self, sentence: str) -> str:
        """A sentence with the keys' names in place of `{chat.stop}`."""
        ...
