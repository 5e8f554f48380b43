"""A training that takes a moment."""

import pytest

from models.training import job


@pytest.fixture
def small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts of few tokens, one epoch: a tiny target writes on to the end of its context."""
    monkeypatch.setattr(job, "TEXTS", 4)
    monkeypatch.setattr(job, "EPOCHS", 1)
    monkeypatch.setattr("mlx_spec.training.own_text.TEMPERATURES", (0.0,))
    for name, count in (("ROWS", 8), ("ASKED", 8), ("ANSWERED", 24)):
        monkeypatch.setattr(f"mlx_spec.training.own_text.{name}", count)
