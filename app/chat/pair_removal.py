"""Removing a pair: asked first, with the bytes that are freed; the disk's work is done on threads."""

import asyncio

from app.chat.ask import Ask
from app.chat.pull_queue import PullQueue
from models.errors import ModelsError
from models.pairs.catalogue import Pair
from models.pairs.own_pairs import forget_own
from models.pairs.pair import PairSpec
from models.size_text import size_text


async def remove_after_asking(pair: Pair, in_use: PairSpec, pulls: PullQueue, ask: Ask) -> str:
    """Remove a pair unless it is in use or the person keeps it; the outcome as a sentence."""
    if pair.spec == in_use:
        return f"{pair.name} is in use. Use another pair first, then remove it."
    if (job := pulls.of(pair.spec)) and job.unfinished:
        return f"{pair.name} is being downloaded. Cancel the download first, then remove it."
    freed = await asyncio.to_thread(_removable, pair.spec)
    if not freed and not pair.own:
        return f"Nothing of {pair.name} can be removed: its files are not here, or kept for others."
    question = f"Remove {pair.name}? {size_text(freed)} are freed."
    if not freed:
        question = f"Take {pair.name} out of the list? Its files stay."
    if not await ask(question, "Remove", "Keep"):
        return f"{pair.name} stays."
    try:
        return await asyncio.to_thread(_remove, pair, freed)
    except (ModelsError, OSError) as error:
        return f"{pair.name} could not be removed: {error}"


def _removable(spec: PairSpec) -> int:
    from models.hub.removal import removable_bytes  # huggingface_hub takes a moment to load

    return removable_bytes(spec)


def _remove(pair: Pair, freed: int) -> str:
    from models.hub.removal import remove

    message = f"{pair.name} was removed."
    if freed:
        message = f"{pair.name} was removed: {size_text(remove(pair.spec).freed_bytes)} freed."
    if pair.own:
        forget_own(pair.name)
    return message
