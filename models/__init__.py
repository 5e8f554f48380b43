"""Pairs of target and draft: the catalogue, whether a pair fits this machine, pulling and loading it.

Model architectures are mlx-lm's.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


def load_pair(
    name: str | None = None,
    *,
    target: str | None = None,
    draft: str | None = None,
    drafters: Sequence[str] = (),
) -> "LoadedPair":
    """Load a pair: from the catalogue by name, or a target, alone or with a draft.

    Args:
        drafters: folders of further drafters.

    Raises:
        ModelsError: the pair is unknown, not installed or broken, or target and draft do not fit.
        SpecError: the engine refuses the models.
    """
    from models.load.engine import load
    from models.pairs.resolve import resolve

    return load(resolve(name, target, draft, drafters=drafters))
