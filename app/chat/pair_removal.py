"""Removing a pair: asked first, with the bytes that are freed; the disk's work is done on threads."""

import asyncio
from typing import TYPE_CHECKING

from app.tui.screens.question import QuestionScreen
from models.errors import ModelsError
from models.pairs.catalogue import Pair
from models.pairs.own_pairs import forget_own
from models.pairs.pair import PairSpec
from models.size_text import size_text

if TYPE_CHECKING:
    from app.tui.app import ChatApp


async def remove_after_asking(app: "ChatApp", pair: Pair) -> str:
    """Remove a pair unless it is in use or the person keeps it; what came of it, in a sentence.

    Waits for the person: a worker has to run it.
    """
    if pair.spec == app.link.pair:
        return f"{pair.name} is in use. Use another pair first, then remove it."
    if (job := app.pulls.of(pair.spec)) and job.unfinished:
        how = app.keys.told("Cancel the download first ({app.pairs}, {pairs.cancel}).")
        return f"{pair.name} is on its way. {how}"
    freed = await asyncio.to_thread(_removable, pair.spec)
    if not freed and not pair.own:
        return f"Nothing of {pair.name} can be removed: its files are not here, or kept for others."
    question = f"Remove {pair.name}? {size_text(freed)} are freed."
    if not freed:
        question = f"Take {pair.name} out of the list? Its files stay."
    if not await app.push_screen_wait(QuestionScreen(question, "Remove", "Keep")):
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

    said = f"{pair.name} was removed."
    if freed:
        said = f"{pair.name} was removed: {size_text(remove(pair.spec).freed_bytes)} freed."
    if pair.own:
        forget_own(pair.name)
    return said
