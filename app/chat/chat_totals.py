"""What drafting did in a chat so far: a fold over its answers' logs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from app.chat.answer_log import AnswerLog

PLAIN_ROUNDS_NEEDED = 16
"""Plain rounds to compare with, below which the time saved is not given."""


@dataclass(frozen=True, slots=True)
class ChatTotals:
    """All answers of one chat, the one being written included."""

    answers: int
    tokens: int
    rounds: int
    drafted: int
    accepted: int
    seconds: float
    rounds_by_drafter: dict[str, int]
    plain_rounds: int
    """Plain rounds that followed a plain round: their times give the cost of plain decoding."""
    saved_seconds: float | None
    """The time the drafted rounds' tokens would have taken at the pair's median plain round, less the time
    they took; None if too few plain rounds were measured."""


def totals(logs: Collection[AnswerLog]) -> ChatTotals:
    rounds = [played for log in logs for played in log.rounds]
    drafted = [played for played in rounds if played.drafted]
    savings = [_saving([log for log in logs if log.pair == pair]) for pair in {log.pair for log in logs}]
    known = [saved for _, saved in savings if saved is not None]
    return ChatTotals(
        answers=sum(log.tokens > 0 for log in logs),
        tokens=sum(log.tokens for log in logs),
        rounds=len(rounds),
        drafted=sum(len(played.drafted) for played in drafted),
        accepted=sum(played.accepted for played in drafted),
        seconds=sum(log.seconds for log in logs),
        rounds_by_drafter=dict(Counter(played.drafter for played in drafted)),
        plain_rounds=sum(count for count, _ in savings),
        saved_seconds=sum(known) if known else None,
    )


def _saving(logs: Sequence[AnswerLog]) -> tuple[int, float | None]:
    """(plain rounds measured, seconds saved against them or None) of one pair's answers."""
    pairs = [pair for log in logs for pair in zip(log.rounds, log.rounds[1:], strict=False)]
    plain = [played.seconds for before, played in pairs if not before.drafted and not played.drafted]
    drafted = [played for log in logs for played in log.rounds if played.drafted]
    if len(plain) < PLAIN_ROUNDS_NEEDED or not drafted:
        return len(plain), None
    tokens = sum(played.accepted + bool(played.own) for played in drafted)
    return len(plain), median(plain) * tokens - sum(played.seconds for played in drafted)
