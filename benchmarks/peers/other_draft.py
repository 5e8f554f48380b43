"""A draft for the built-in target, trained on unrelated text: made once, kept in the data folder."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from app.shell.errors import MachineFailed
from app.shell.output import talk
from models.paths import data_folder


def folder() -> Path:
    """The draft's folder; trained now if it does not exist (a minute or two).

    Raises:
        MachineFailed: PyTorch is missing, or the training failed.
    """
    out = data_folder() / "bench" / "other-draft"
    if (out / "config.json").exists():
        return out
    if find_spec("torch") is None:
        raise MachineFailed("PyTorch, which trains it, is not installed")
    talk(f"Training a draft on other text, once, into {out} ...")
    command = [sys.executable, "-m", "train_builtin", "other_draft", "--out", str(out)]
    if subprocess.run(command, stdout=sys.stderr).returncode:
        raise MachineFailed("its training failed, see above")
    return out
