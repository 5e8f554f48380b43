"""What drafting did in a chat so far: a fold over its answers' logs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from app.events import DraftRound
from app.tui.answer_log import AnswerLog

PLAIN_ROUNDS_NEEDED = 16
"""Plain rounds without which nothing is said about the time that drafting saved."""


@dataclass(frozen=True, slots=True)
class ChatTotals:
    """All answers of one chat, the one being written included."""

    answers: int
    tokens: int
    rounds: int
    drafted: int
    accepted: int
    seconds: float
    """Spent decoding."""
    rounds_by_drafter: dict[str, int]
    plain_rounds: int
    """Rounds without a draft that followed another one: what a plain round costs in this chat."""
    plain_seconds: float | None
    """Their median; None if there are too few."""
    saved_seconds: float | None
    """What the drafted rounds' tokens would have cost as plain rounds, less what they did cost."""


def totals(logs: Sequence[AnswerLog]) -> ChatTotals:
    """Add up the answers."""
    rounds = [played for log in logs for played in log.rounds]
    plain = [seconds for log in logs for seconds in _plain_times(log.rounds)]
    typical = median(plain) if len(plain) >= PLAIN_ROUNDS_NEEDED else None
    drafted = [played for played in rounds if played.drafted]
    latest = [log.latest for log in logs if log.latest is not None]
    return ChatTotals(
        answers=len(latest),
        tokens=sum(event.tokens for event in latest),
        rounds=len(rounds),
        drafted=sum(len(played.drafted) for played in drafted),
        accepted=sum(played.accepted for played in drafted),
        seconds=sum(event.seconds for event in latest),
        rounds_by_drafter=dict(Counter(played.drafter for played in drafted)),
        plain_rounds=len(plain),
        plain_seconds=typical,
        saved_seconds=typical * sum(map(_gained, drafted)) - sum(r.seconds for r in drafted)
        if typical is not None and drafted
        else None,
    )


def _plain_times(rounds: Sequence[DraftRound]) -> Iterator[float]:
    for before, played in zip(rounds, rounds[1:], strict=False):
        if not before.drafted and not played.drafted:
            yield played.seconds


def _gained(played: DraftRound) -> int:
    return played.accepted + bool(played.own)
