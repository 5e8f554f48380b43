"""A side of `bench-peers` that loads nothing."""

import os


class Echo:
    """A side that echoes, fails or dies."""

    def __init__(self, said: str) -> None:
        if not said:
            raise ValueError("nothing to say")
        self.said = said

    def say(self, times: int) -> str:
        return self.said * times

    def fail(self) -> None:
        raise RuntimeError("no weights")

    def die(self) -> None:
        os._exit(7)
