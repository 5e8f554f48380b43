"""The engine is tested as it runs on a GPU: a drafted round in flight, its length known to the device alone.

Reading at once, as on the CPU, is the easier case; the tests of the app run that way, and those here
that ask for it.
"""

import shutil
from collections.abc import Iterator

import mlx.core as mx
import pytest

from mlx_spec import engine
from mlx_spec.target import model


@pytest.fixture(autouse=True)
def a_drafted_round_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "drafts_in_flight", lambda: True)


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Passes are compiled, as on a GPU."""
    if shutil.which("g++") is None:
        pytest.skip("MLX compiles with g++, which is missing")
    monkeypatch.setattr(model, "COMPILES", True)
    mx.enable_compile()
    yield
    mx.disable_compile()
