"""Multi-token prediction (MTP) layers in a model's original repository: conversions for MLX drop them.

The original is recognized by the target's sizes in its config.json and by its tensors. The config alone is
not enough: conversions keep naming the layers they dropped.
"""

import re
from contextlib import suppress
from pathlib import Path

from models.errors import BrokenFiles, ModelsError
from models.pairs.drafter_kinds import Config, text_settings
from models.pairs.folder import INDEX, check_drafter, check_safetensors, read_config, read_json, tensor_names
from models.pairs.own_drafters import facts_of, own_place
from models.pairs.pair import Source

MTP = "mtp"
WEIGHTS = "model.safetensors"
COPIES = ("embed_tokens", "shared_head.head", "lm_head")
"""Prefixes of copies of the target's tensors in an MTP layer."""
_SIZES = ("hidden_size", "num_hidden_layers", "vocab_size")
_NAME = re.compile(r"(?:^|\.)mtp\.(?!layers\.[1-9])(?P<qwen>.+)|^model\.layers\.(?P<place>\d+)\.(?P<own>.+)")


def is_same_model(config: Config, target: Config) -> bool:
    """Whether a config.json is of the target's original, or of an unquantized conversion."""
    own, theirs = text_settings(config), text_settings(target)
    sizes = [own.get(size) for size in _SIZES]
    same = None not in sizes and sizes == [theirs.get(size) for size in _SIZES]
    return same and "quantization" not in config


def mtp_files(folder: Path) -> dict[str, list[str]]:
    """Names of the first MTP layer's tensors by file, from the index or, without one, from the only weight
    file, without copies of the target's. Qwen's are named `mtp.`, others' are the layer after the target's
    last one; further layers are not read. The files may not be downloaded yet.
    """
    weights, layers = folder / WEIGHTS, int(text_settings(read_config(folder)).get("num_hidden_layers", 0))
    places = (read_json(folder / INDEX) or {}).get("weight_map")
    if not isinstance(places, dict):
        places = dict.fromkeys(tensor_names(weights) if weights.is_file() else (), weights.name)
    found: dict[str, list[str]] = {}
    for name, file in places.items():
        match = _NAME.search(name)
        behind = match and (match["qwen"] or int(match["place"]) == layers)
        if match and behind and not (match["own"] or "").startswith(COPIES):
            found.setdefault(str(file), []).append(name)
    return found


def check_mtp(folder: Path) -> None:
    """Raise BrokenFiles if a file with MTP layers is missing or damaged."""
    for name in mtp_files(folder):
        if not (folder / name).is_file():
            raise BrokenFiles(f"{folder} lacks {name}, which holds its multi-token prediction layers.")
        check_safetensors(folder / name)


def is_original(draft: Path, target: Path) -> bool:
    """Whether `draft` is the target's original, with MTP layers."""
    return is_same_model(read_config(draft), read_config(target)) and bool(mtp_files(draft))


def taken_from(target: Source, original: Source) -> Path | None:
    """The folder with the MTP layers extracted from this repository; None if there is none."""
    folder = own_place(target, MTP)
    with suppress(ModelsError):
        if facts_of(folder).get("from") == str(original) and check_drafter(folder):
            return folder
    return None
