"""Loading draft models: ordinary checkpoints of mlx-lm's architectures, including PARD's."""

from pathlib import Path
from typing import Any

import mlx.nn as nn

from mlx_spec.drafters.foreign import ByText, ByVocabulary, ForeignDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.pard import PardDrafter
from models.errors import BrokenFiles
from models.load.checkpoint import opened
from models.load.configuration import context_limit
from models.load.translation import Translation


def load_model(folder: Path, target: nn.Module, config: dict[str, Any]) -> ModelDrafter:
    """Load the draft model in a folder; `target` and `config` are unused."""
    with opened(folder) as files:
        return model_drafter(*files.load())


def model_drafter(model: nn.Module, config: dict[str, Any]) -> ModelDrafter:
    """The drafter for a model with this config: PARD if it names a mask token.

    Raises:
        BrokenFiles: the mask token is not an integer.
        UnsupportedModel: the model has no such token, or its cache cannot roll back.
    """
    limit = context_limit(config)
    if "pard_token" not in config:
        return ModelDrafter(model, limit)
    mask = config["pard_token"]
    if type(mask) is not int:
        raise BrokenFiles(
            f"The pard_token of the draft model is {mask!r}, which is no token. Fetch it again."
        )
    return PardDrafter(model, mask, limit)


def foreign_drafter(model: nn.Module, config: dict[str, Any], between: Translation) -> ForeignDrafter:
    """The drafter for a model with another tokenizer; UnsupportedModel if its cache cannot roll back."""
    kind = ByVocabulary if between.by_vocabulary else ByText
    return kind(model, between, context_limit(config))
