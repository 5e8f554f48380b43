"""A path as a person writes it."""

import os
from pathlib import Path


def written_out(path: str | Path) -> Path:
    """With a `~` or `~name` at its beginning written out; a `~name` that nobody has stays as it is."""
    return Path(os.path.expanduser(path))
