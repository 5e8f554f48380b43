"""Numbers as a person reads them: counts, times and bars."""

from collections.abc import Iterable
from datetime import datetime

from mlx_spec.stats import Stats

BARS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"


def counted(number: int, thing: str) -> str:
    """`1 chat`, `1,200 chats`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def rate_text(per_second: float) -> str:
    """`120`, `9.5`: a whole number alone would be far off below 10."""
    return f"{per_second:.{0 if per_second >= 9.95 else 1}f}"


def answer_figures(stats: Stats) -> list[str]:
    """An answer in numbers: tokens and speed, what of the drafts was accepted, the wait for the first."""
    if not stats.tokens:
        return ["no tokens"]
    rate = f", {rate_text(stats.tokens_per_second)}/s" if stats.tokens_per_second else ""
    drafts, wait = "no draft", stats.time_to_first_token
    if stats.draft_n:
        drafts = f"accepted {stats.draft_n_accepted}/{stats.draft_n}, {stats.accepted_per_round:.2f}/round"
    return [
        f"{stats.tokens} token{'s' * (stats.tokens > 1)}{rate}",
        drafts,
        f"first token {f'{wait * 1000:.0f} ms' if wait < 0.9995 else f'{wait:.1f} s'}",
    ]


def day_group(then: float, now: float) -> str:
    """A heading for what was done on the same day, in the same week, month or year. A time in the future (a
    clock was set back) belongs to today."""
    day, today = (datetime.fromtimestamp(time).date() for time in (then, now))
    days = (today - day).days
    if days <= 1:
        return "Yesterday" if days == 1 else "Today"
    if days <= 7:
        return "Last 7 days"
    if days <= 30:
        return "Last 30 days"
    return f"{day:%B}" if day.year == today.year else f"{day:%Y}"


def when_text(then: float, now: float) -> str:
    """When it was: `14:05`, `Mon 14:05`, `3 Nov`, `3 Nov 2025`. A search has no headings to tell the day."""
    moment, today = datetime.fromtimestamp(then), datetime.fromtimestamp(now)
    days = (today.date() - moment.date()).days
    if 0 <= days < 7:
        return f"{moment:%a %H:%M}" if days else f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b}{'' if moment.year == today.year else f' {moment:%Y}'}"


def bars(values: Iterable[float], highest: float) -> str:
    """A vertical bar, one character wide, for each value from 0 to `highest`."""
    shares = (min(max(value / highest, 0), 1) if highest else 0 for value in values)
    return "".join(BARS[round(share * (len(BARS) - 1))] for share in shares)


def bar(full: int, cells: int) -> str:
    """A horizontal bar with `full` of its cells filled."""
    return "█" * min(full, cells) + "░" * (cells - full)


def smooth_bar(share: float, cells: int) -> str:
    """A horizontal bar filled up to a share from 0 to 1, to an eighth of a cell."""
    full, rest = divmod(round(min(max(share, 0.0), 1.0) * cells * 8), 8)
    return f"{'█' * full}{EIGHTHS[rest] if rest else ''}".ljust(cells)
