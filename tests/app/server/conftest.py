"""Servers that are started once: one with the tiny pair, two with the scripted engine."""

import json
from collections.abc import Iterator

import pytest

from app.engine.fill_in import FORMATS
from tests.app.server.running_server import SCRIPTED, RunningServer, running
from tests.app.tiny_pair import TinyPair, count_as_measured, write_tiny_pair
from tests.models.tiny_models import SPECIAL, edit, make_tokenizer


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory: pytest.TempPathFactory) -> TinyPair:
    """The pair of the other tests, with marks to fill in the middle, and a template that can think."""
    pair = write_tiny_pair(tmp_path_factory.mktemp("tiny"))
    for folder in (pair.target, pair.draft):
        make_tokenizer(folder, special=(*SPECIAL, *FORMATS[0]))
        config = folder / "tokenizer_config.json"
        template = json.loads(config.read_text())["chat_template"]
        edit(config, chat_template=template + "{% if enable_thinking %}hm{% endif %}{{ reasoning_effort }}")
    return pair


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


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with a key and one allowed origin that answers two requests at once."""
    home, origin = tmp_path_factory.mktemp("server"), "http://localhost:3000"
    asks = running(home, ["scripted", "2"], program=SCRIPTED, MLX_SPEC_API_KEY="schlüssel", ORIGIN=origin)
    with asks as server:
        yield server
