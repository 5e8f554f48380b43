"""The keys in use, which config.toml may change, and the sentences that name them."""

import re
from collections.abc import Mapping

from app.tui.keys.keymap import BINDINGS, key_name

_BINDING = re.compile(r"\{(\w+\.\w+)\}")


class Keys:
    def __init__(self, chosen: Mapping[str, str]) -> None:
        """`chosen`: binding id to the keys of config.toml, separated by commas."""
        self._chosen = chosen

    def of(self, binding: str) -> list[str]:
        """All keys of a binding, as Textual writes them."""
        return self._chosen.get(binding, BINDINGS[binding].key).split(",")

    def name(self, binding: str) -> str:
        """The first key of a binding, as people read it: `Ctrl+T`."""
        return key_name(self.of(binding)[0])

    def fill_in(self, sentence: str) -> str:
        """A sentence of the program, with key names in place of `{chat.stop}`.

        Insert any other text afterwards: it may have braces too.
        """
        return _BINDING.sub(lambda found: self.name(found[1]), sentence)
