"""What the tests of the engine's side share."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.engine.client import EngineClient
from tests.app.engine.families import FAMILIES, Make
from tests.app.tui.engine_thread import ThreadedClient
from tests.models.tiny_models import make_tokenizer

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper


@pytest.fixture(autouse=True)
def _short_texts_are_tokenized_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the machine is busy: tests count events, and calls of `cancelled`."""
    monkeypatch.setattr("app.engine.session.LOOK_SECONDS", 10.0)


@pytest.fixture(autouse=True)
def _ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine gets the time that a busy machine needs to start and end it."""
    monkeypatch.setattr("app.engine.client.QUIT_SECONDS", 60)


@pytest.fixture
def threaded(tmp_path: Path) -> Iterator[EngineClient]:
    """For tests in which it does not matter that the engine is another process."""
    client = ThreadedClient(tmp_path / "engine.log")
    client.start()
    yield client
    client.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """The tokenizer of a family."""

    @cache
    def make(family: str) -> "TokenizerWrapper":
        from mlx_lm.tokenizer_utils import load

        template, special = FAMILIES[family]
        folder: Path = tmp_path_factory.mktemp(family)
        make_tokenizer(folder, special=special, template=template)
        return load(folder)

    return make
