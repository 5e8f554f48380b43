"""Loading drafters from folders for a target."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import mlx.nn as nn

from mlx_spec.drafters import Drafter
from mlx_spec.drafters.assistant import AssistantDrafter
from mlx_spec.drafters.dflash import DFlashDrafter
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.foreign import ByText, ByVocabulary, ForeignDrafter
from mlx_spec.drafters.head import Head
from mlx_spec.drafters.medusa import MedusaDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.mtp import MtpDrafter
from mlx_spec.drafters.pard import PardDrafter
from mlx_spec.drafters.peagle import PEagleDrafter
from mlx_spec.errors import SpecError
from models.errors import BadChoice, BrokenFiles, MachineTrouble, ModelsError
from models.load.assistant import assistant_head
from models.load.checkpoint import Checkpoint, opened, trouble
from models.load.configuration import context_limit
from models.load.dflash import dflash_head
from models.load.eagle import eagle_head
from models.load.heads import GROUP, Config, Weights, load_head
from models.load.layer_skip import load_layer_skip
from models.load.medusa import medusa_head
from models.load.mtp import mtp_head
from models.load.peagle import peagle_head
from models.load.translation import Translation
from models.pairs.drafter_kinds import DRAFT_MODELS, DSPARK, LAYER_SKIP, MODEL, PARD
from models.pairs.folder import by_kind
from models.pairs.own_drafters import own_drafters
from models.pairs.pair import PairSpec
from models.size_text import size_text

WHOLE = 16
"""Bits of an unquantized weight."""
Loader = Callable[[Path, nn.Module, dict[str, Any]], Any]
"""A `Drafter` from its folder, the target and its config; heads stored unquantized are quantized as in that
config's `quantization`. Raises SpecError or ModelsError if the drafter does not fit."""


def _head(make: Callable[[Config, Weights, Any], Head], drafter: Callable[[Any], Drafter]) -> Loader:
    return lambda folder, target, config: drafter(load_head(folder, target, config, make))


def _model(folder: Path, target: nn.Module, config: dict[str, Any]) -> ModelDrafter:
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
            f"The pard_token of the draft model is {mask!r}, which is not a token. Download it again."
        )
    return PardDrafter(model, mask, limit)


def foreign_drafter(model: nn.Module, config: dict[str, Any], between: Translation) -> ForeignDrafter:
    """The drafter for a model with another tokenizer; UnsupportedModel if its cache cannot roll back."""
    kind = ByVocabulary if between.by_vocabulary else ByText
    return kind(model, between, context_limit(config))


LOADERS: dict[str, Loader] = {
    MODEL: _model,
    PARD: _model,
    LAYER_SKIP: load_layer_skip,
    "eagle": _head(eagle_head, EagleDrafter),
    "peagle": _head(peagle_head, PEagleDrafter),
    "medusa": _head(medusa_head, MedusaDrafter),
    "mtp": _head(mtp_head, MtpDrafter),
    "assistant": _head(assistant_head, AssistantDrafter),
    **{name: _head(dflash_head, partial(DFlashDrafter, name=name)) for name in ("dflash", "dflash2", DSPARK)},
}
"""By kind (`models.pairs.folder`)."""


def load_drafters(
    spec: PairSpec, target: nn.Module, config: dict[str, Any], room: int
) -> tuple[list[Drafter], list[str]]:
    """The drafters beside the pair's draft model: those named in the pair, and the target's own drafters of
    other kinds. And notes on own drafters that are left out.

    Args:
        room: bytes of memory for the weights of own drafters.

    Raises:
        ModelsError: a drafter named in the pair does not fit, or cannot be read; or bits without a head.
    """
    named = {kind: Path(source.repo) for kind, source in by_kind(spec.drafters).items()}
    own, notes = own_drafters(spec.target, [*spec.drafters, *spec.sources])
    if spec.drafter_bits and not {*named, *own}.difference(DRAFT_MODELS, [LAYER_SKIP]):
        raise BadChoice(f"--drafter-bits {spec.drafter_bits} needs a head, and {spec.name} has none.")
    config = with_bits(config, spec.drafter_bits)
    drafters = [load_drafter(folder, kind, target, config) for kind, folder in named.items()]
    for kind, folder in own.items():
        if kind in DRAFT_MODELS and spec.draft is not None:
            # On a Mac it lies in "Application Support".
            place = quote(str(folder))
            notes.append(f"This pair has a draft model. To use yours in its place: --drafter {place}")
        elif kind not in named:
            try:
                if (needed := Checkpoint(folder, folder).weight_bytes()) > room:
                    sizes = f"it needs {size_text(needed)} of memory, and {size_text(room)} are left."
                    raise MachineTrouble(sizes)
                room -= needed
                drafters.append(load_drafter(folder, kind, target, config))
            except ModelsError as error:
                notes.append(f"The drafter in {folder} is left out: {error}")
    return drafters, notes


def with_bits(config: dict[str, Any], bits: int | None) -> dict[str, Any]:
    """The target's config with this quantization, for its heads; None: unchanged."""
    if bits is None:
        return config
    return config | {"quantization": {"group_size": GROUP, "bits": bits} if bits < WHOLE else None}


def load_drafter(folder: Path, kind: str, target: Any, config: dict[str, Any]) -> Drafter:
    """Load the drafter in a folder.

    Raises:
        ModelsError: it does not fit the target, or cannot be read.
    """
    try:
        drafter: Drafter = LOADERS[kind](folder, target, config)
    except SpecError as error:
        raise BadChoice(f"The drafter in {folder} does not fit this target: {error}") from error
    except ModelsError:
        raise
    except Exception as error:
        raise trouble(folder, error) from error
    layers = len(target.layers)
    if beyond := [layer for layer in drafter.taps if not 0 <= layer < layers]:
        raise BadChoice(
            f"The drafter in {folder} reads layer {beyond[0]}, and the target has {layers} layers. "
            "Use the drafter that was made for this target."
        )
    return drafter
