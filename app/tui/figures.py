"""The numbers of an answer in words, for the status line and under each answer."""

from app.events import PrefillProgressed, TextAdded, TurnEnded
from app.tui.engine_link import EngineState
from app.tui.settings import Settings
from app.tui.widgets.status_line import StatusItem

STEADY_SECONDS = 0.5
"""A rate measured over less than this says little and is not shown."""


def status_items(
    pair: str,
    state: EngineState,
    settings: Settings,
    context: tuple[int, int | None],
    event: PrefillProgressed | TextAdded | TurnEnded | None,
    queued: int,
    *,
    stopping: bool = False,
) -> tuple[StatusItem, ...]:
    """The status line's items. `context` is tokens in use and the limit, if known."""
    items = [StatusItem(_state(state, pair), 9, "bold $error" if state in ("failed", "dead") else "bold")]
    drafting = f"drafting {'on' if settings.drafts else 'off'}"
    items.append(StatusItem(drafting, 8, "$text-success" if settings.drafts else "$text-warning bold"))
    if stopping:
        items.append(StatusItem("stopping", 11, "$text-warning bold"))
    match event:
        case PrefillProgressed(done, total):
            items.append(StatusItem(f"reading {done}/{total}", 10))
        case TextAdded():
            if event.seconds >= STEADY_SECONDS:
                items.append(StatusItem(f"{event.tokens_per_second:.0f} tok/s", 10, "bold"))
            else:
                items.append(StatusItem("… tok/s", 10, "dim"))
            items += _drafted(event.accepted, event.drafted, event.rounds)
        case TurnEnded(stats=stats):
            items.append(StatusItem(f"{stats.tokens_per_second:.0f} tok/s", 10, "bold"))
            items += _drafted(stats.draft_n_accepted, stats.draft_n, stats.rounds)
    used, limit = context
    if limit:
        items.append(StatusItem(f"context {used}/{limit}", 3))
    if queued:
        items.append(StatusItem(f"{queued} queued", 7))
    return tuple(items)


def stats_line(event: TurnEnded) -> str:
    """The line under a finished answer."""
    stats = event.stats
    parts = [f"{stats.tokens} tokens", f"{stats.tokens_per_second:.0f} tok/s"]
    if stats.draft_n:
        accepted = f"accepted {stats.draft_n_accepted}/{stats.draft_n} ({stats.acceptance_rate:.0%})"
        parts.append(f"{accepted}, {stats.accepted_per_round:.2f} per round")
    else:
        parts.append("no draft")
    parts.append(f"first token {stats.time_to_first_token * 1000:.0f} ms")
    if event.finish_reason == "cancelled":
        parts.append("stopped by you")
    elif event.finish_reason == "length":
        parts.append("cut at the length limit (/max-tokens)")
    return " · ".join(parts)


def _drafted(accepted: int, drafted: int, rounds: int) -> list[StatusItem]:
    if not drafted:
        return []
    per_round = f"{accepted / max(rounds, 1):.1f} of {drafted / max(rounds, 1):.1f} per round"
    return [StatusItem(per_round, 6), StatusItem(f"{accepted / drafted:.0%} accepted", 5)]


def _state(state: EngineState, pair: str) -> str:
    match state:
        case "ready":
            return f"● {pair}"
        case "loading":
            return f"◌ loading {pair}"
        case "failed":
            return f"✗ {pair} not loaded"
        case "dead":
            return "✗ engine stopped"
