"""Multi-token prediction layers in the original files of a model: conversions for MLX leave them out.

Such a repository is told by the target's sizes in its config.json and by its tensors: conversions go on
naming the layers that they lack.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models.errors import BrokenFiles, ModelsError
from models.pairs.folder import INDEX, check_drafter, check_safetensors, read_json, tensor_names
from models.pairs.own_drafters import target_name
from models.pairs.pair import Source
from models.paths import own_drafters_folder

Config = Mapping[str, Any]
MTP = "mtp"
WEIGHTS = "model.safetensors"
COPIES = ("embed_tokens", "shared_head.head", "lm_head")
"""Of the target's tensors, within such a layer."""
_SIZES = ("hidden_size", "num_hidden_layers", "vocab_size")
_NAME = re.compile(r"(?:^|\.)mtp\.(?P<qwen>.+)|^model\.layers\.(?P<place>\d+)\.(?P<own>.+)")


def is_same_model(config: Config, target: Config) -> bool:
    """Whether a config.json is of the target's own original, or of what was made of that unquantized."""
    own, theirs = _text(config), _text(target)
    sizes = [own.get(size) for size in _SIZES]
    same = None not in sizes and sizes == [theirs.get(size) for size in _SIZES]
    return same and "quantization" not in config


def mtp_tensors(names: Iterable[str], config: Config) -> list[str]:
    """Those of the layers, without their copies of the target's: Qwen's are called so, and those of others
    stand behind the last layer."""
    layers, found = int(_text(config).get("num_hidden_layers", 0)), []
    for name in names:
        match = _NAME.search(name)
        behind = match and (match["qwen"] or int(match["place"]) >= layers)
        if match and behind and not (match["own"] or "").startswith(COPIES):
            found.append(name)
    return found


def mtp_files(folder: Path) -> dict[str, list[str]]:
    """Tensors of the layers by file, as the index tells; without one, as the only file does.

    Some of the files may not be here.
    """
    config, weights = read_json(folder / "config.json") or {}, folder / WEIGHTS
    places = (read_json(folder / INDEX) or {}).get("weight_map")
    if not isinstance(places, dict):
        places = dict.fromkeys(tensor_names(weights) if weights.is_file() else (), weights.name)
    found: dict[str, list[str]] = {}
    for name in mtp_tensors(places, config):
        found.setdefault(str(places[name]), []).append(name)
    return found


def check_mtp(folder: Path) -> None:
    """Raise BrokenFiles where a file of the layers is missing or damaged."""
    for name in mtp_files(folder):
        if not (folder / name).is_file():
            raise BrokenFiles(f"{folder} lacks {name}, which holds its multi-token prediction layers.")
        check_safetensors(folder / name)


def is_original(draft: Path, target: Path) -> bool:
    """Whether a folder has the files of the target's original, such layers among them."""
    configs = [read_json(each / "config.json") or {} if each.is_dir() else {} for each in (draft, target)]
    return is_same_model(*configs) and bool(mtp_files(draft))


def place_of(target: Source) -> Path:
    """Where such layers of a target are kept: among its own drafters, which need not be named."""
    return own_drafters_folder() / target_name(target) / MTP


def taken_from(target: Source, original: Source) -> Path | None:
    """The folder with the layers that were taken from this repository; None: they were not."""
    folder = place_of(target)
    try:
        facts = (read_json(folder / "config.json") or {}).get("mlx_spec")
        if isinstance(facts, dict) and facts.get("from") == str(original):
            check_drafter(folder)
            return folder
    except ModelsError:
        pass
    return None


def _text(config: Config) -> Config:
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, Mapping) else config
