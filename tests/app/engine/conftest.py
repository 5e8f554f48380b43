"""What the tests of the engine's side share."""

import pytest


@pytest.fixture(autouse=True)
def _short_texts_are_tokenized_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the machine is busy: tests count events, and calls of `cancelled`."""
    monkeypatch.setattr("app.engine.session.LOOK_SECONDS", 10.0)


@pytest.fixture(autouse=True)
def _ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine gets the time that a busy machine needs to start and end it."""
    monkeypatch.setattr("app.engine.client.QUIT_SECONDS", 60)
