"""The numbers of an answer in words, for the status line and under each answer."""

from collections.abc import Iterator, Sequence

from app.chat.answer_log import SAMPLE_SECONDS, AnswerLog
from app.chat.open_chat import OpenChat
from app.engine.events import DraftRound, PrefillProgressed, PromptCounted
from app.history.records import ChatMessage, Finish
from app.shell.number_text import answer_figures, bars, counted, rate_text
from app.shell.printable import one_line
from app.tui.widgets.item_line import SEPARATOR, LineItem
from mlx_spec.stats import Stats, acceptance_by_position
from models.size_text import size_text

SAMPLES_SHOWN = 8
POSITIONS_SHOWN = 8

CONTINUES = "/continue goes on while it is last"

NEARLY_FULL = 0.8
"""Share of the context in use above which it is highlighted."""


def status_items(chat: OpenChat, download: str, stop_key: str) -> Iterator[LineItem]:
    link, context = chat.link, chat.context
    pair = one_line(link.pair.name)
    states = {
        "ready": f"● {pair}",
        "loading": f"◌ {one_line(link.indexing) or f'loading {pair}'}",
        "failed": f"✗ {pair} not loaded",
        "dead": "✗ engine stopped",
    }
    weight = 9 if link.state == "ready" else 12
    yield LineItem(states[link.state], weight, "bold $error" if link.state in ("failed", "dead") else "bold")
    on = chat.settings.drafts
    drafting = ("drafting on", 8, "$text-success") if on else ("drafting off", 11, "$text-warning bold")
    yield LineItem(*drafting)
    if not chat.conversation.is_kept:
        yield LineItem("temporary", 11, "$text-warning bold")
    elif chat.history.is_failing:
        yield LineItem("not saved", 11, "$text-warning bold")
    if tuning := link.tuning:
        yield LineItem(f"measuring drafting {tuning.done}/{tuning.total} · {stop_key} skips", 11, "bold")
    if chat.running is not None and chat.running.stopping:
        yield LineItem("stopping", 11, "$text-warning bold")
    match context.latest:
        case PromptCounted():  # how much of it is left to read is known with its first piece
            yield LineItem("reading", 10)
        case PrefillProgressed(done, total):
            yield LineItem(f"reading {done}/{total}", 10)
        case _:
            pass
    if limit := chat.context_limit:
        about, share = "" if context.is_counted else "~", f"{context.tokens / limit:.0%}"
        style = "$text-warning bold" if context.tokens > NEARLY_FULL * limit else ""
        whole = f"context {about}{context.tokens}/{limit} ({share})"
        yield LineItem(whole, 10, style, short=f"context {about}{share}")
    if own := chat.own_settings:
        whole = SEPARATOR.join(own).replace("temperature", "temp")
        yield LineItem(whole, 10, "bold", short=min(whole, counted(len(own), "own setting"), key=len))
    if download:
        yield LineItem(download, 7, "$text-accent")


def stored_line(message: ChatMessage) -> str:
    facts = message.facts
    if facts is None:
        return ""
    stopped_again = facts.finish == "cancelled" and message.text and facts.stats and not facts.stats.tokens
    if facts.finish in (None, "failed") or facts.stats is None or stopped_again:
        return f"not finished{SEPARATOR}{CONTINUES}"
    line = stats_line(facts.stats, facts.finish, facts.options.max_tokens)
    return line if facts.covers_all else f"{line}{SEPARATOR}of the continuation only"


def branch_label(branches: Sequence[ChatMessage], message: ChatMessage) -> str:
    """`‹2/3›`; empty if there is one branch only."""
    if len(branches) < 2:
        return ""
    return f"‹{[m.id for m in branches].index(message.id) + 1}/{len(branches)}›"


def gauge_items(log: AnswerLog) -> Iterator[LineItem]:
    """The gauges of one answer, live or ended: speed, acceptance, drafter, share of drafting, memory."""
    latest = log.latest
    if latest is None:
        return
    if len(log.rates) > 1:
        rates = log.rates[-SAMPLES_SHOWN:]
        yield LineItem(bars(rates, max(rates)), 5, "$text-primary")
    speed = log.tokens_per_second
    measured = speed and (latest.seconds >= SAMPLE_SECONDS or log.over)
    yield LineItem(f"{rate_text(speed) if measured else '…'} tok/s", 10, "bold")
    if drafted := sum(len(played.drafted) for played in log.rounds):
        rounds, accepted = len(log.rounds), sum(played.accepted for played in log.rounds)
        per_round = f"{accepted / rounds:.1f}/{drafted / rounds:.1f}"
        shape = bars(acceptance_by_position(log.rounds)[:POSITIONS_SHOWN], 1)
        yield LineItem(f"accepted {per_round} per round {shape}", 9, short=f"{per_round} {shape}")
    if log.rounds:
        yield _drafter(log.rounds[-1])
    if (share := log.draft_share) is not None:
        whole = f"draft {share:.0%} verify {1 - share:.0%}"
        yield LineItem(f"time: {whole}", 6, short=whole)
    memory = size_text(latest.memory_bytes)
    yield LineItem(f"engine {memory}", 4, short=memory)


def _drafter(played: DraftRound) -> LineItem:
    if not played.drafted:
        return LineItem("no draft", 7)
    name, length = one_line(played.drafter), len(played.drafted)
    return LineItem(f"{name} drafts {length}", 7, short=f"{name} {length}")


def stats_line(stats: Stats, finish: Finish, max_tokens: int) -> str:
    """The line under a finished answer; with four-digit figures it takes 75 columns, which fit into 80."""
    if not stats.tokens and finish == "cancelled":
        return "stopped by you before the first token"
    parts = answer_figures(stats)
    if stats.tokens and finish == "cancelled":
        parts.append("stopped by you")
    elif stats.tokens and finish == "length":
        is_full = stats.tokens < max_tokens
        parts.append("cut: the context is full" if is_full else "cut at the length limit (/max-tokens)")
    return SEPARATOR.join(parts)
