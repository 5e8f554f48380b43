"""Which tokens the rows of a model's caches belong to."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlx_spec.errors import SpecError


class ReadTexts:
    """Of sequence i, `texts[i][:seen[i]]` are the tokens whose rows are valid."""

    def __init__(self) -> None:
        self.texts: list[Sequence[int]] = [()]
        self.seen = [0]
        self._lock, self._busy = threading.RLock(), False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Raise SpecError if it writes already: another thread, or a drafter that uses its own engine.

        What two wrote into the same rows would be neither's, and of two threads MLX ends the process.
        """
        if self._busy or not self._lock.acquire(blocking=False):
            raise SpecError(
                "This engine is writing another answer. Use it from one thread at a time, not in a drafter."
            )
        try:
            self._busy = True
            yield
        finally:
            self._busy = False
            self._lock.release()

    @contextmanager
    def between(self) -> Iterator[None]:
        """Within `alone`: meanwhile the same thread may write another text, which ends this one."""
        self._busy = False
        yield
        self._busy = True

    def read_to(self, tokens: Sequence[int], seen: int, sequence: int = 0) -> None:
        """Rows of `tokens[:seen]` are valid now, by passes that were decoded."""
        self.texts[sequence], self.seen[sequence] = tokens, seen

    def read_on(self, tokens: Sequence[int], start: int, sequence: int) -> None:
        """Rows of `tokens` were read from `start` on, if there was no gap."""
        if self.seen[sequence] >= start:
            read = [*self.texts[sequence][:start], *tokens]
            self.read_to(read, len(read), sequence)

    def rearrange(self, order: Sequence[int]) -> None:
        """Sequence i becomes what sequence `order[i]` was; one that did not exist has no rows."""
        known = range(len(self.seen))
        self.texts = [self.texts[i] if i in known else () for i in order]
        self.seen = [self.seen[i] if i in known else 0 for i in order]

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
