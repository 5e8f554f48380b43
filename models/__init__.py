"""Which target goes with which draft, what fits this machine, how to get it and load it.

A catalogue of pairs, not of architectures: those are mlx-lm's.
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
    """A pair in memory: one of the catalogue by name, or a target with a draft (repository, folder, `none`),
    and folders of other drafters.

    Raises:
        ModelsError: it is not known, not installed, broken, or target and draft do not fit.
        SpecError: the engine refuses the models.
    """
    from models.load.engine import load
    from models.pairs.resolve import resolve

    return load(resolve(name, target, draft, drafters=drafters))
