"""Which tokens the rows of a model's caches belong to."""

import os
from collections.abc import Sequence


class ReadTexts:
    """Of sequence i, `texts[i][:seen[i]]` are the tokens whose rows are valid."""

    def __init__(self) -> None:
        self.texts: list[Sequence[int]] = [()]
        self.seen = [0]

    def read_to(self, tokens: Sequence[int], seen: int, sequence: int = 0) -> None:
        """Rows of `tokens[:seen]` are valid now, by passes that were decoded."""
        self.texts[sequence], self.seen[sequence] = tokens, seen

    def overwrite(self, start: int, sequence: int) -> None:
        """Rows of a sequence from `start` on are no longer valid."""
        self.seen[sequence] = min(self.seen[sequence], start)

    def forget(self) -> None:
        """Read the next prompt from its first token, as after loading."""
        self.seen = [0] * len(self.seen)

    def common(self, tokens: Sequence[int], sequence: int) -> int:
        """How many of the first tokens have valid rows."""
        ours = list(self.texts[sequence][: self.seen[sequence]])
        return len(os.path.commonprefix([ours, list(tokens)]))  # it takes any lists
