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
    if saved is None:
        time = (
            f"not known: {plain} plain rounds were measured in this chat, "
            f"{PLAIN_ROUNDS_NEEDED} are needed ({draft_key} answers without drafting)"
        )
    else:
        time = f"none, {-saved:.1f} s lost {basis}" if saved < 0 else f"{saved:.1f} s {basis}"
    return [
        *found,
        ("Drafted by", ", ".join(f"{name} in {counted(n, 'round')}" for name, n in by.items())),
        ("Accepted", f"{right} of {count} ({right / count:.0%})"),
        ("Time saved", time),
    ]


def saving(logs: Collection[AnswerLog]) -> tuple[int, float | None]:
    """(plain rounds measured, seconds saved), each pair's drafted rounds against its own median plain round.

    A plain round counts if it followed a plain round: after a draft one is slower. None: too few of them.
    """
    measured, found = 0, list[float]()
    for name in {log.pair for log in logs}:
        its = [log.rounds for log in logs if log.pair == name]
        pairs = [pair for rounds in its for pair in zip(rounds, rounds[1:], strict=False)]
        plain = [played.seconds for before, played in pairs if not before.drafted and not played.drafted]
        drafted = [played for rounds in its for played in rounds if played.drafted]
        measured += len(plain)
        if len(plain) >= PLAIN_ROUNDS_NEEDED and drafted:
            tokens = sum(played.accepted + bool(played.own) for played in drafted)
            found.append(median(plain) * tokens - sum(played.seconds for played in drafted))
    return measured, sum(found) if found else None
