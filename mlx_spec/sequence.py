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

    def extend(
        self,
        drafted: list[int],
        gained: list[int],
        drafter: str,
        seconds: float,
        draft_seconds: float | None,
        steady: bool,
        tree_depth: int | None = None,
    ) -> Round:
        """Take a round that was read, up to the first stop; the arguments are as in `Round`."""
        taken, stop = self._cut(gained)
        cut = drafted[:taken] if stop and tree_depth is None else drafted
        self.tokens += gained[:taken]
        self.rounds.append(
            Round(
                drafted=tuple(cut),
                accepted=min(len(gained) - 1, taken),
                tokens=tuple(gained[:taken]),
                drafter=drafter,
                seconds=seconds,
                stop=stop,
                draft_seconds=draft_seconds,
                # A draft that is cut here took as long as the whole of it.
                steady=steady and len(cut) == len(drafted),
                tree_depth=tree_depth,
            )
        )
        return self.rounds[-1]

    def _cut(self, gained: list[int]) -> tuple[int, StopReason | None]:
        for count, token in enumerate(gained, 1):
            if token in self.options.stop_tokens:
                return count, "stop"
            if len(self.tokens) + count >= self.limit:
                return count, "length"
        return len(gained), None
