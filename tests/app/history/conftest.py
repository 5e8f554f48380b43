"""Histories save at once, and get enough time to write when closed, also on a busy machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.history.store import History


@pytest.fixture(autouse=True)
def saving_is_quick_and_closing_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.history.saving.SAVE_SECONDS", 0.02)
    monkeypatch.setattr("app.history.saving.CLOSE_SECONDS", 60)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    history = History(tmp_path / "data" / "history.db")
    yield history
    history.close()
