"""One text being written, as far as the host has read it."""

from dataclasses import dataclass, field

from mlx_spec.types import Options, Round, StopReason
from mlx_spec.verify.verifiers import Verifier


@dataclass(slots=True)
class Sequence:
    """The text, where it must end, and the rounds that wrote it."""

    tokens: list[int]
    """Prompt and answer."""
    options: Options
    limit: int
    """Tokens at which it ends at the latest."""
    verifier: Verifier
    rounds: list[Round] = field(default_factory=list)
    cached_tokens: int = 0
    """Prompt tokens that were not read again."""
    prompt_length: int = field(init=False)

    def __post_init__(self) -> None:
        self.prompt_length = len(self.tokens)

    @property
    def stopped(self) -> bool:
        """Whether its last round was read."""
        return bool(self.rounds) and self.rounds[-1].stop is not None

    def extend(self, gained: list[int]) -> tuple[int, StopReason | None]:
        """Take the tokens up to the first stop: how many, and why they stop there."""
        taken, stop = self._cut(gained)
        self.tokens += gained[:taken]
        return taken, stop

    def _cut(self, gained: list[int]) -> tuple[int, StopReason | None]:
        for count, token in enumerate(gained, 1):
            if token in self.options.stop_tokens:
                return count, "stop"
            if len(self.tokens) + count >= self.limit:
                return count, "length"
        return len(gained), None
