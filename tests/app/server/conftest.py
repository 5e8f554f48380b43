"""Servers that are started once: one with the tiny pair, one with the scripted engine."""

from collections.abc import Iterator

import pytest

from tests.app.server.running_server import SCRIPTED, RunningServer, running
from tests.app.tiny_pair import TinyPair, count_as_measured


@pytest.fixture(scope="session")
def tiny_server(tiny_pair: TinyPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    home = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLX_SPEC_HOME", str(home))
        count_as_measured(tiny_pair)
    with running(home, [*tiny_pair.arguments, "--draft-length", "3"]) as server:
        yield server


@pytest.fixture(scope="session")
def scripted_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with room for four waiting requests."""
    with running(tmp_path_factory.mktemp("server"), [], program=SCRIPTED) as server:
        yield server
