"""Removing a pair: confirmed first, with the bytes it frees; disk work runs on threads."""

import asyncio
from collections.abc import Awaitable, Callable

from app.chat.pull_queue import PullQueue
from models.errors import ModelsError, NotInstalled
from models.hub.removal import plan_removal, remove
from models.pairs.catalogue import Pair
from models.pairs.own_pairs import forget_own
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
        freed = await asyncio.to_thread(_removable, pair)
        question = f"Take {pair.name} out of the list? Its files stay."
        if freed is not None:
            question = f"Remove {pair.name}? {size_text(freed)} are freed."
        if not await ask(question, "Remove", "Keep"):
            return f"{pair.name} stays."
        return await asyncio.to_thread(_remove, pair, has_files=freed is not None)
    except NotInstalled as error:
        return str(error)
    except (ModelsError, OSError) as error:
        return f"{pair.name} could not be removed: {error}"


def _removable(pair: Pair) -> int | None:
    """Bytes to be freed; None for an own pair without files, which only leaves the list.

    Raises:
        NotInstalled: nothing can be removed; the message says why.
    """
    try:
        return plan_removal(pair.spec).freed_bytes
    except NotInstalled:
        if pair.own:
            return None
        raise


def _remove(pair: Pair, *, has_files: bool) -> str:
    if has_files:
        return f"{pair.name} was removed: {size_text(remove(pair.spec).freed_bytes)} freed."
    forget_own(pair.name)
    return f"{pair.name} was removed."
