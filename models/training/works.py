"""What can be made for a target, by the name under which it drafts."""

from collections.abc import Callable
from functools import partial

from models.training.draft_model import draft_model
from models.training.fitting import Fitting
from models.training.kinds import KINDS, Kind
from models.training.layer_skip import LayerSearch
from models.training.work import Wishes, Work
from models.training.workshop import Workshop

Begin = Callable[[Workshop, Wishes], Work]
"""ModelsError or UnsupportedModel: it cannot be made for this target."""


def _head(kind: Callable[..., Kind], shop: Workshop, wishes: Wishes) -> Work:
    return Fitting(shop, kind(shop.config), wishes)


WORKS: dict[str, Begin] = {
    **{name: partial(_head, kind) for name, kind in KINDS.items()},
    "model": draft_model,
    "layer_skip": LayerSearch,
}
