"""A layer_skip drafter on disk: the layers of the target that it keeps. It has no weights of its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.nn as nn

from mlx_spec.drafters.layer_skip import CANDIDATE, LayerSkipDrafter
from mlx_spec.training.layer_search import Found
from models.errors import BrokenFiles
from models.files import replacing_folder
from models.pairs.drafter_kinds import LAYER_SKIP
from models.pairs.folder import read_config


def save_layer_skip(folder: Path, found: Found, target: str, about: Mapping[str, Any]) -> None:
    """Write the search's result and `about` for the target of this name. An OSError leaves what was there."""
    config = {
        "model_type": LAYER_SKIP,
        "layers": list(found.layers),
        "acceptance": list(found.acceptance),
        "mlx_spec": {"target": target, "gain": found.gain, "draft_length": found.draft_length, **about},
    }
    with replacing_folder(folder) as to:
        (to / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def load_layer_skip(folder: Path, target: nn.Module, config: dict[str, Any]) -> LayerSkipDrafter:
    """Load the drafter in a folder for this target; `config` is unused.

    Raises:
        BrokenFiles: config.json is damaged.
        UnsupportedModel: the target has no such layers, or its layers cannot be skipped.
    """
    values = read_config(folder)
    try:
        layers = [int(layer) for layer in values["layers"]]
        acceptance = float(values.get("acceptance", [CANDIDATE.prior])[0])  # missing if written by hand
        if not 0 <= acceptance <= 1:
            raise ValueError("acceptance is a share")
    except (LookupError, TypeError, ValueError) as error:
        file = folder / "config.json"
        raise BrokenFiles(
            f"{file} does not tell which layers to keep ({error!r}). Make it again: mlx-spec train.", file
        ) from error
    return LayerSkipDrafter(target, layers, acceptance)
