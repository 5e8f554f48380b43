"""A training that takes a moment."""

from itertools import count

import pytest

from models.training import job


@pytest.fixture
def small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few short texts, the same in every run, two in a file; one epoch with a step for each file."""
    monkeypatch.setattr("models.training.fitting.time.time_ns", count(1).__next__)
    monkeypatch.setattr("models.training.fitting.TOKENS", 250)
    monkeypatch.setattr("models.training.fitting.PROBE", 32)
    monkeypatch.setattr(job, "TEXTS", 2)
    monkeypatch.setattr(job, "EPOCHS", 1)
    monkeypatch.setattr("mlx_spec.training.fit.FILES", 1)
    monkeypatch.setattr("mlx_spec.training.own_text.TEMPERATURES", (0.0,))
    for name, size in (("ROWS", 8), ("ASKED", 8), ("ANSWERED", 24)):
        monkeypatch.setattr(f"mlx_spec.training.own_text.{name}", size)
