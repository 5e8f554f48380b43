"""Every test has its own home: no cache, token or setting of the user who runs it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.models.forked import STAND_IN, Forked
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_pair


def own_home(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Point the Hub's cache and our own data into this folder."""
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "MLX_SPEC_HOME"))]:
        patch.delenv(name)
    patch.setenv("HF_HOME", str(folder / "hf"))
    patch.setenv("MLX_SPEC_HOME", str(folder / "home"))
    patch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture(autouse=True)
def nothing_is_measured_at_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the tests of the app."""
    monkeypatch.setattr("mlx_spec.calibrate.SECONDS", 0.0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own_home(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Serves a whole pair: org/target and org/draft."""
    target, draft = make_pair(home / "made")
    hosted = {"org/target": HostedModel(files_of(target)), "org/draft": HostedModel(files_of(draft))}
    with HubServer(hosted) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def read_tokenizers_quickly(patch: pytest.MonkeyPatch) -> None:
    """Fork the Hub's child processes from a warm one, and read tokenizers without transformers."""
    patch.setenv("PYTHONPATH", str(STAND_IN), prepend=os.pathsep)
    patch.setattr("models.child.subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": Forked}))


@pytest.fixture
def quick_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    read_tokenizers_quickly(monkeypatch)
