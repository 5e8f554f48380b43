"""Which kind of drafter a folder holds: read from its config.json, never guessed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.errors import BadSource
from models.pairs.folder import TOKENIZER_FILES, check_folder, check_safetensors, read_json, weight_files
from models.pairs.pair import Source

MODEL = "model"
"""The kind of an ordinary model folder, as mlx-lm has them: a draft model."""
_WANTED = "Name a folder that `mlx-spec train` made, or that of a draft model."

_SIGNS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "eagle": lambda c: c.get("architectures") == ["LlamaForCausalLMEagle3"] or "draft_vocab_size" in c,
    "medusa": lambda c: "medusa_num_heads" in c,
    "layer_skip": lambda c: c.get("model_type") == "layer_skip" and isinstance(c.get("layers"), list),
}


def drafter_source(text: str) -> Source:
    """A folder as a person types it."""
    return Source(os.path.realpath(os.path.expanduser(text)))


def kind_of(folder: Path) -> str:
    """The name under which the drafter in a folder drafts: `eagle`, `medusa`, `layer_skip` or `model`.

    Raises:
        BadSource: no folder, no config.json, or one that tells no kind that is known.
        BrokenFiles: config.json cannot be read.
    """
    if not os.path.isdir(folder):
        raise BadSource(f"There is no drafter folder {folder}. {_WANTED}")
    config = read_json(folder / "config.json")
    if config is None:
        raise BadSource(f"{folder} holds no config.json; it is no drafter. {_WANTED}")
    for kind, holds in _SIGNS.items():
        if holds(config):
            return kind
    if any((folder / name).is_file() for name in TOKENIZER_FILES):
        return MODEL
    raise BadSource(f"config.json in {folder} tells no kind of drafter that is known here. {_WANTED}")


def check_drafter(folder: Path) -> str:
    """Its kind, if its files are whole; raises as `kind_of` and `check_folder`."""
    kind = kind_of(folder)
    if kind == MODEL:
        check_folder(folder)
    elif kind != "layer_skip":  # which has no weights of its own
        for file in weight_files(folder):
            check_safetensors(file)
    return kind
