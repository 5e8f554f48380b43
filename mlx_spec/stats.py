"""Numbers about one generation: a fold over its rounds, nothing measured elsewhere."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mlx_spec.types import Round


@dataclass(frozen=True, slots=True)
class Stats:
    """Names follow llama.cpp's server (`draft_n`, `draft_n_accepted`) where it has them."""

    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens whose rows were still in the target's cache."""
    tokens: int
    """Tokens of the answer, a stop token included."""
    prefill_seconds: float
    """From the start to the first round."""
    decode_seconds: float
    """From the first round's start to the last round's end."""
    time_to_first_token: float
    """Seconds from the start until the first round was read."""
    tokens_per_second: float
    """Decoding only: tokens after the first round over the time after it; 0 if it is the only one."""
    rounds: int
    draft_n: int
    """Drafted tokens, without those behind the end of the text."""
    draft_n_accepted: int
    """Drafted tokens that were accepted."""
    acceptance_rate: float
    """Accepted / drafted; 0 when nothing was drafted."""
    accepted_per_round: float
    """Mean accepted tokens per round, plain rounds included."""
    acceptance_by_position: tuple[float, ...]
    """For draft position i: acceptance rate, given that all before it were accepted."""
    rounds_by_drafter: dict[str, int]
    draft_share: float | None
    """Share of a round spent drafting, from the rounds timed in two parts; None if none was."""
    peak_memory_bytes: int


@runtime_checkable
class Judged(Protocol):
    """How a round's draft was judged."""

    @property
    def draft_length(self) -> int: ...
    @property
    def accepted(self) -> int: ...


@runtime_checkable
class Played(Judged, Protocol):
    """The statistics of a round, whether its tokens are ids or text."""

    @property
    def seconds(self) -> float: ...
    @property
    def draft_seconds(self) -> float | None: ...


def summarise(
    rounds: Sequence[Round],
    *,
    prompt_tokens: int = 0,
    cached_tokens: int = 0,
    prefill_seconds: float = 0.0,
    peak_memory_bytes: int = 0,
    continued_at: int = 0,
) -> Stats:
    """Fold rounds into the numbers people read.

    Args:
        rounds: of one answer, from its first.
        prompt_tokens, cached_tokens, prefill_seconds, peak_memory_bytes: as in `Stats`.
        continued_at: index of the round with which the answer was continued; it waited for its prompt, as the
            first did, and is left out of the rate too.
    """
    tokens = sum(len(r.tokens) for r in rounds)
    decode = sum((r.seconds for r in rounds), 0.0)
    first = rounds[0].seconds if rounds else 0.0
    drafted = sum(len(r.drafted) for r in rounds)
    accepted = sum(r.accepted for r in rounds)
    timed = [r for i, r in enumerate(rounds) if i not in (0, continued_at)]
    seconds = sum(r.seconds for r in timed)
    return Stats(
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        tokens=tokens,
        prefill_seconds=prefill_seconds,
        decode_seconds=decode,
        time_to_first_token=prefill_seconds + first,
        tokens_per_second=sum(len(r.tokens) for r in timed) / seconds if seconds else 0.0,
        rounds=len(rounds),
        draft_n=drafted,
        draft_n_accepted=accepted,
        acceptance_rate=accepted / drafted if drafted else 0.0,
        accepted_per_round=accepted / len(rounds) if rounds else 0.0,
        acceptance_by_position=acceptance_by_position(rounds),
        rounds_by_drafter=dict(Counter(r.drafter for r in rounds)),
        draft_share=draft_share(rounds),
        peak_memory_bytes=peak_memory_bytes,
    )


def acceptance_by_position(rounds: Sequence[Judged]) -> tuple[float, ...]:
    """For draft position i: acceptance rate, given that all before it were accepted."""
    longest = max((r.draft_length for r in rounds), default=0)
    rates = []
    for i in range(longest):
        reached = [r for r in rounds if r.draft_length > i and r.accepted >= i]
        if not reached:
            break
        rates.append(sum(r.accepted > i for r in reached) / len(reached))
    return tuple(rates)


def draft_share(rounds: Sequence[Played]) -> float | None:
    """Share of drafting in the time of the rounds timed in two parts; None if none was."""
    timed = [(r.draft_seconds, r.seconds) for r in rounds if r.draft_seconds is not None]
    whole = sum(seconds for _, seconds in timed)
    return sum(draft for draft, _ in timed) / whole if whole else None
