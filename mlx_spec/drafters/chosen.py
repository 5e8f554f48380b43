"""The drafters that the options of a text allow."""

from collections.abc import Sequence

from mlx_spec.drafters import Drafter
from mlx_spec.errors import BadOption
from mlx_spec.types import Options


def drafters_for(options: Options, drafters: Sequence[Drafter]) -> list[Drafter]:
    """The drafters that these options allow.

    Raises:
        BadOption: there is no drafter of a given name.
    """
    usual = [drafter.name for drafter in drafters if not drafter.by_name]
    names = {"auto": usual, "none": []}.get(options.drafter, options.drafter.split("+"))
    known = [drafter.name for drafter in drafters]
    if unknown := [name for name in names if name not in known]:
        raise BadOption(
            f"There is no drafter {unknown[0]} in this pair. "
            f"Use auto or none, or one or more of these joined by +: {', '.join(known)}."
        )
    if options.draft_length == 0:
        return []
    return [drafter for drafter in drafters if drafter.name in names]
