"""The speed each pair last reached in a comparison on this machine."""

from app.compare.store import kept
from app.shell.number_text import counted


def last_speeds() -> dict[str, str]:
    """Pair name to a sentence with its newest kept comparison; pairs that were never compared are absent."""
    found: dict[str, str] = {}
    for record in kept().records:
        name = record.facts["pair"]["name"]
        if name in found or not record.drafting:
            continue
        best = max(record.drafting, key=record.speed)
        plain = record.speed(record.plain_of(best))
        found[name] = (
            f"{plain:.0f} tok/s plain, {record.speed(best):.0f} with {record.settings[best].name}, "
            f"{record.date[:10]}, {counted(len(record.prompts), 'prompt')}"
        )
    return found
