"""The trainings by the name that `mlx-spec train --kind` takes."""

from collections.abc import Callable
from functools import partial

from models.pairs.installed import installed_folder
from models.pairs.resolve import target_spec
from models.training.characters import character_model
from models.training.draft_model import draft_model
from models.training.fitting import Fitting
from models.training.kinds import KINDS, trained
from models.training.layer_skip import LayerSearch
from models.training.work import TrainRequest, Work
from models.training.workshop import Workshop

Begin = Callable[[Workshop, TrainRequest], Work]
"""Raises ModelsError or UnsupportedModel if this kind cannot be made for the target."""


def _head(name: str, shop: Workshop, request: TrainRequest) -> Work:
    if request.base is None:
        return Fitting(shop, KINDS[name](shop.target, shop.config), request)
    spec = target_spec(request.base)
    folder = installed_folder(spec.target, spec)
    return Fitting(shop, trained(name, folder, shop.target, shop.config), request)


WORKS: dict[str, Begin] = {
    **{name: partial(_head, name) for name in KINDS},
    "model": draft_model,
    "characters": character_model,
    "layer_skip": LayerSearch,
}
