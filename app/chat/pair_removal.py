"""Removing a pair: confirmed first, with the bytes it frees; disk work runs on threads."""

import asyncio
from collections.abc import Awaitable, Callable

from app.chat.pull_queue import PullQueue
from models.errors import ModelsError, NotInstalled
from models.hub.removal import Removal, plan_removal, remove
from models.pairs.catalogue import Pair
from models.pairs.pair import PairSpec
from models.size_text import size_text

Ask = Callable[[str, str, str], Awaitable[bool]]


async def remove_after_asking(pair: Pair, in_use: PairSpec, pulls: PullQueue, ask: Ask) -> str:
    """Remove a pair unless it is in use or the person keeps it; return the outcome as a sentence."""
    if pair.spec.sources == in_use.sources:
        return f"{pair.name} is in use. Use another pair first, then remove it."
    if (job := pulls.of(pair.spec)) and job.unfinished:
        return f"{pair.name} is being downloaded. Cancel the download first, then remove it."
    try:
        plan = await asyncio.to_thread(plan_removal, pair.spec)
        if not await ask(question(pair.name, plan), "Remove", "Keep"):
            return f"{pair.name} stays."
        done = await asyncio.to_thread(remove, pair.spec)
        pulls.forget(pair.spec)
        return outcome(pair.name, done)
    except NotInstalled as error:
        return str(error)
    except (ModelsError, OSError) as error:
        return f"{pair.name} could not be removed: {error}"


def question(name: str, plan: Removal) -> str:
    if plan.deleted:
        shared = ", which other programs find in the Hub's cache too" if is_shared(plan) else ""
        return f"Remove {name}? {size_text(plan.freed_bytes)} are freed{shared}."
    return f"Remove {name} from the list? Its files stay."


def is_shared(plan: Removal) -> bool:
    """Whether something is deleted that other programs may use."""
    return any(not source.is_local for source in plan.deleted)


def outcome(name: str, done: Removal) -> str:
    return f"{name} was removed{f': {size_text(done.freed_bytes)} freed' if done.deleted else ''}."
