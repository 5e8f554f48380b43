"""What drafting did in a chat so far, in words: a fold over its answers' logs."""

from collections import Counter
from collections.abc import Collection
from statistics import median

from app.chat.answer_log import AnswerLog
from app.shell.number_text import counted
from app.shell.printable import one_line

PLAIN_ROUNDS_NEEDED = 16
"""Plain rounds to compare with, below which the time saved is not given."""


def totals(logs: Collection[AnswerLog], draft_key: str) -> list[tuple[str, str]]:
    """Rows of (name, value) about all answers of one chat, the one being written included.

    `draft_key` is the key that switches drafting.
    """
    rounds = [played for log in logs for played in log.rounds]
    drafted = [played for played in rounds if played.drafted]
    if not rounds:
        return [("Answers", "none in this chat since it was opened")]
    tokens, seconds = sum(log.tokens for log in logs), sum(log.seconds for log in logs)
    found = [
        ("Answers", str(sum(log.tokens > 0 for log in logs))),
        ("Tokens", f"{tokens} in {seconds:.1f} s of decoding"),
        ("Rounds", f"{len(rounds)}, {tokens / len(rounds):.2f} tokens each"),
    ]
    if not drafted:
        return [*found, ("Time saved", "nothing was drafted")]
    by = Counter(one_line(played.drafter) for played in drafted)
    right, count = sum(played.accepted for played in drafted), sum(len(played.drafted) for played in drafted)
    plain, saved = saving(logs)
    basis = f"against the median of {plain} plain rounds of this chat"
    needed = f"{PLAIN_ROUNDS_NEEDED} plain rounds of each pair are needed, {plain} were measured"
    time = f"not known: {needed} ({draft_key} answers without drafting)"
    if saved is not None:
        time = f"none, {-saved:.1f} s lost {basis}" if saved < 0 else f"{saved:.1f} s {basis}"
    return [
        *found,
        ("Drafted by", ", ".join(f"{name} in {counted(n, 'round')}" for name, n in by.items())),
        ("Accepted", f"{right} of {count} ({right / count:.0%})"),
        ("Time saved", time),
    ]


def saving(logs: Collection[AnswerLog]) -> tuple[int, float | None]:
    """(plain rounds measured, seconds saved), each pair's drafted rounds against its own median plain round.

    A plain round counts if it followed a plain round: after a draft one is slower. None: a pair that drafted
    has too few of them, as many as are returned.
    """
    counts, saved = list[int](), 0.0
    for name in {log.pair for log in logs}:
        its = [log.rounds for log in logs if log.pair == name]
        pairs = [pair for rounds in its for pair in zip(rounds, rounds[1:], strict=False)]
        plain = [played.seconds for before, played in pairs if not before.drafted and not played.drafted]
        if drafted := [played for rounds in its for played in rounds if played.drafted]:
            counts.append(len(plain))
            tokens = sum(played.accepted + bool(played.own) for played in drafted)
            saved += median(plain or [0.0]) * tokens - sum(played.seconds for played in drafted)
    fewest = min(counts, default=0)
    return (sum(counts), saved) if fewest >= PLAIN_ROUNDS_NEEDED else (fewest, None)
