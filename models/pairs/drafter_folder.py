"""Which kind of drafter a folder holds: read from its config.json, never guessed."""

import os
from pathlib import Path

from models.errors import BadSource
from models.pairs.drafter_kinds import DRAFT_MODELS, check_kind, config_kind
from models.pairs.folder import TOKENIZER_FILES, check_folder, read_json
from models.pairs.pair import Source

_WANTED = "Name a folder that `mlx-spec train` made, or that of a draft model."


def drafter_source(text: str) -> Source:
    """A folder as a person types it."""
    return Source(os.path.realpath(os.path.expanduser(text)))


def kind_of(folder: Path) -> str:
    """The name under which the drafter in a folder drafts: `eagle`, `mtp`, `layer_skip`, `pard` or
    `model`.

    Raises:
        BadSource: no folder, no config.json, or one that tells no kind that is known.
        BadChoice: a kind that is known, and not loaded.
        BrokenFiles: config.json cannot be read.
    """
    if not os.path.isdir(folder):
        raise BadSource(f"There is no drafter folder {folder}. {_WANTED}")
    config = read_json(folder / "config.json")
    if config is None:
        raise BadSource(f"{folder} holds no config.json; it is no drafter. {_WANTED}")
    check_kind(config, str(folder))
    kind = config_kind(config)
    if kind not in DRAFT_MODELS or any((folder / name).is_file() for name in TOKENIZER_FILES):
        return kind
    raise BadSource(f"config.json in {folder} tells no kind of drafter that is known here. {_WANTED}")


def check_drafter(folder: Path) -> str:
    """Its kind, if its files are whole; raises as `kind_of` and `check_folder`."""
    kind = kind_of(folder)
    check_folder(folder)
    return kind
