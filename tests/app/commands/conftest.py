"""A training that takes a moment."""

from itertools import count

import pytest

from models.training import job


@pytest.fixture
def small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts of few tokens, the same in every run, one epoch: a tiny target writes on to the end of its
    context."""
    monkeypatch.setattr("models.training.fitting.time.time_ns", count(1).__next__)
    monkeypatch.setattr(job, "TEXTS", 4)
    monkeypatch.setattr(job, "EPOCHS", 1)
    monkeypatch.setattr("mlx_spec.training.own_text.TEMPERATURES", (0.0,))
    for name, size in (("ROWS", 8), ("ASKED", 8), ("ANSWERED", 24)):
        monkeypatch.setattr(f"mlx_spec.training.own_text.{name}", size)
