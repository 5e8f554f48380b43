"""Histories are closed with time to write, however busy the machine is."""

import pytest


@pytest.fixture(autouse=True)
def closing_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.history.saving.CLOSE_SECONDS", 60)
