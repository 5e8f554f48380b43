"""Paths on this machine. Creates nothing.

Weights from the Hub stay in the Hub's cache (`HF_HOME`, `HF_HUB_CACHE`): there is no second copy.
"""

import os
from pathlib import Path

from platformdirs import user_config_path, user_data_path

from models.errors import MachineTrouble


def data_folder() -> Path:
    """Our own small files: `MLX_SPEC_HOME` if set, else the platform's user data folder."""
    return _home() or user_data_path("mlx-spec", appauthor=False)


def config_file() -> Path:
    """The settings: `config.toml` in `MLX_SPEC_HOME`, else in the platform's user config folder."""
    return (_home() or user_config_path("mlx-spec", appauthor=False)) / "config.toml"


def hub_cache() -> Path:
    """The Hub's cache: `HF_HUB_CACHE`, `HF_HOME` or the default, as the Hub's library does.

    Read here because importing huggingface_hub is slow and freezes the values.
    """
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if not cache:
        caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        cache = (os.environ.get("HF_HOME") or f"{caches}/huggingface") + "/hub"
    return Path(os.path.expanduser(os.path.expandvars(cache)))  # an unknown `~name` is kept


def cache_variable() -> str:
    """The environment variable to set for another folder than `hub_cache`."""
    own = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
    return next((name for name in own if os.environ.get(name)), "HF_HOME")


def own_pairs_file() -> Path:
    """The user's own pairs (`models.pairs.own_pairs`)."""
    return data_folder() / "pairs.json"


def packaged_folder() -> Path:
    """Models pulled from Python packages (`models.hub.package`)."""
    return data_folder() / "models"


def own_drafters_folder() -> Path:
    """Drafters trained here: `TARGET/KIND/` (`models.pairs.own_drafters`)."""
    return data_folder() / "drafters"


def shipped_drafters_folder() -> Path:
    """Drafters that ship with the program, in folders named after their targets."""
    return Path(__file__).parent / "heads"


def builtin_folder() -> Path:
    """The pair that ships with the program: folders `target` and `draft`."""
    return Path(__file__).parent / "builtin"


def _home() -> Path | None:
    home = os.environ.get("MLX_SPEC_HOME")
    if not home:
        return None
    try:
        return Path(home).expanduser().absolute()
    except RuntimeError as error:
        raise MachineTrouble(
            f"MLX_SPEC_HOME is '{home}', and that user's home folder is not known. Set it to a whole path."
        ) from error
