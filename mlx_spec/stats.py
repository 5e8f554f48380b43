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
    """Decoding only: tokens after the first round over the time after it (all of it, if one round)."""
    end_to_end_tokens_per_second: float
    """All tokens over prefill and decoding."""
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
    """A round's draft length and accepted tokens."""

    @property
    def draft_length(self) -> int: ...
    @property
    def accepted(self) -> int: ...


@runtime_checkable
class Played(Judged, Protocol):
    """The statistics of a round, whether its tokens are ids or text."""

    @property
    def drafted(self) -> Sequence[object]: ...
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
) -> Stats:
    """Fold rounds into the numbers people read.

    Args:
        rounds: of one answer, from its first.
        prompt_tokens, cached_tokens, prefill_seconds, peak_memory_bytes: as in `Stats`.
    """
    tokens = sum(len(r.tokens) for r in rounds)
    decode = sum((r.seconds for r in rounds), 0.0)
    first = rounds[0].seconds if rounds else 0.0
    drafted = sum(len(r.drafted) for r in rounds)
    accepted = sum(r.accepted for r in rounds)
    if len(rounds) > 1:
        rate = (tokens - len(rounds[0].tokens)) / max(decode - first, 1e-9)
    else:
        rate = tokens / decode if decode else 0.0
    total = prefill_seconds + decode
    return Stats(
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        tokens=tokens,
        prefill_seconds=prefill_seconds,
        decode_seconds=decode,
        time_to_first_token=prefill_seconds + first,
        tokens_per_second=rate,
        end_to_end_tokens_per_second=tokens / total if total else 0.0,
        rounds=len(rounds),
        draft_n=drafted,
        draft_n_accepted=accepted,
        acceptance_rate=accepted / drafted if drafted else 0.0,
        accepted_per_round=accepted / len(rounds) if rounds else 0.0,
        acceptance_by_position=acceptance_by_position(rounds),
        rounds_by_drafter=dict(Counter(r.drafter for r in rounds)),
        draft_share=_draft_share(rounds),
        peak_memory_bytes=peak_memory_bytes,
    )


def joined(first: Stats, second: Stats, rounds: Sequence[Played]) -> Stats:
    """The numbers of an answer whose second part continued the first; `rounds` are those of both."""
    tokens, counted = first.tokens + second.tokens, first.rounds + second.rounds
    prefill = first.prefill_seconds + second.prefill_seconds
    decode = first.decode_seconds + second.decode_seconds
    drafted, accepted = first.draft_n + second.draft_n, first.draft_n_accepted + second.draft_n_accepted
    spans = [_timed(first), _timed(second)]
    timed = sum(seconds for _, seconds in spans)
    return Stats(
        prompt_tokens=first.prompt_tokens,
        cached_tokens=first.cached_tokens,
        tokens=tokens,
        prefill_seconds=prefill,
        decode_seconds=decode,
        time_to_first_token=first.time_to_first_token,
        tokens_per_second=sum(count for count, _ in spans) / timed if timed else 0.0,
        end_to_end_tokens_per_second=tokens / (prefill + decode) if prefill + decode else 0.0,
        rounds=counted,
        draft_n=drafted,
        draft_n_accepted=accepted,
        acceptance_rate=accepted / drafted if drafted else 0.0,
        accepted_per_round=accepted / counted if counted else 0.0,
        acceptance_by_position=acceptance_by_position(rounds),
        rounds_by_drafter=dict(Counter(first.rounds_by_drafter) + Counter(second.rounds_by_drafter)),
        draft_share=_draft_share(rounds),
        peak_memory_bytes=max(first.peak_memory_bytes, second.peak_memory_bytes),
    )


def _timed(stats: Stats) -> tuple[float, float]:
    """(tokens, seconds) behind `tokens_per_second`."""
    first_round = stats.time_to_first_token - stats.prefill_seconds if stats.rounds > 1 else 0.0
    seconds = max(stats.decode_seconds - first_round, 0.0)
    return stats.tokens_per_second * seconds, seconds


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


def _draft_share(rounds: Sequence[Played]) -> float | None:
    timed = [(r.draft_seconds, r.seconds) for r in rounds if r.draft_seconds is not None]
    whole = sum(seconds for _, seconds in timed)
    return sum(draft for draft, _ in timed) / whole if whole else None
