"""The engine is tested as it runs on a GPU: a drafted round in flight, its length known to the device alone.

Reading at once, as on the CPU, is the easier case; the tests of the app run that way, and those here
that ask for it.
"""

import pytest

from mlx_spec import engine


@pytest.fixture(autouse=True)
def a_drafted_round_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "drafts_in_flight", lambda: True)
