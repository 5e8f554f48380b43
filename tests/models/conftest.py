"""A home of its own for every test: no cache, token or setting of the person who runs it."""

import os
from pathlib import Path

import pytest


def own_home(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Point the Hub's cache and our own data into this folder."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "MLX_SPEC_HOME"))]:
        patch.delenv(name)
    patch.setenv("HF_HOME", str(folder / "hf"))
    patch.setenv("MLX_SPEC_HOME", str(folder / "home"))
    patch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own_home(tmp_path, monkeypatch)
    return tmp_path
