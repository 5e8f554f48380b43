"""Histories save at once, and get enough time to write when closed, also on a busy machine."""

import pytest


@pytest.fixture(autouse=True)
def saving_is_quick_and_closing_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.history.saving.SAVE_SECONDS", 0.02)
    monkeypatch.setattr("app.history.saving.CLOSE_SECONDS", 60)
