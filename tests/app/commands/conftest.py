"""A training that takes a moment."""

import random
from collections.abc import Iterator
from itertools import count

import pytest

from mlx_spec.training.study import Text
from models.training import fitting


@pytest.fixture
def small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few short texts, the same in every run, two in a file; one epoch with a step for each file."""
    monkeypatch.setattr("models.training.fitting.time.time_ns", count(1).__next__)
    monkeypatch.setattr("models.training.fitting.TOKENS", 170)
    monkeypatch.setattr("models.training.fitting.PROBE", 32)
    monkeypatch.setattr(fitting, "TEXTS", 2)
    monkeypatch.setattr(fitting, "EPOCHS", 1)
    monkeypatch.setattr("mlx_spec.training.fit.FILES", 1)
    monkeypatch.setattr("mlx_spec.training.own_text.TEMPERATURES", (0.0,))
    for name, size in (("ROWS", 4), ("ASKED", 8), ("ANSWERED", 16)):
        monkeypatch.setattr(f"mlx_spec.training.own_text.{name}", size)


@pytest.fixture
def quick_training(small_training: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of other things: of texts of 30 tokens that no model writes, and so of three files."""

    def texts(model: object, template: object, seed: int, *_: object) -> Iterator[Text]:
        draw = random.Random(seed)
        while True:
            yield Text([draw.randrange(256) for _ in range(30)], 4, True)

    monkeypatch.setattr("mlx_spec.training.own_text.own_texts", texts)
