"""Runs the real app on a scripted engine, on a thread where the test does not need it to be a process."""

import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.settings.config import read_config
from app.settings.options import AnswerOptions
from app.tui.app import ChatApp
from app.tui.run import checked
from models.pairs.catalogue import find
from models.pairs.pair import PairSpec, Source
from tests.app.tui.chat_driver import Chat, OpenChat, until_quiet
from tests.app.tui.drawing import draw_only_what_is_read
from tests.app.tui.engine_thread import ThreadedClient
from tests.app.tui.terminal import Terminal
from tests.models.conftest import read_tokenizers_quickly
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_model, make_tokenizer

SCRIPT = Path(__file__).parents[1] / "scripted_engine.py"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session", autouse=True)
def _styles_are_parsed_once() -> Iterator[None]:
    """Textual parses styles again for every app and screen, a tenth of the time of these tests."""
    honest, parsed = Stylesheet._parse_rules, dict[Any, list[RuleSet]]()

    def parse(self: Stylesheet, *given: Any, **named: Any) -> list[RuleSet]:
        key = (*self._variables.items(), *given, *named.items())
        if key not in parsed:
            parsed[key] = honest(self, *given, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse)
        patch.setattr(RuleSet, "__hash__", object.__hash__)  # theirs, but in C: asked for a million times
        yield


@pytest.fixture(autouse=True)
def _drawn_when_read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual draws after every change, a third of what a test costs; most read what they look at."""
    if not any(request.node.get_closest_marker(name) for name in ("drawn", "slow")):
        draw_only_what_is_read(monkeypatch)


@pytest.fixture
def open_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenChat:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("app.settings.config.user_downloads_path", lambda: tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr("app.history.saving.CLOSE_SECONDS", 60)
    # An engine that ignores the end of its test must not end the test process.
    monkeypatch.setattr("app.engine.process.ORPHAN_SECONDS", threading.TIMEOUT_MAX)

    @asynccontextmanager
    async def running(
        size: tuple[int, int] = (100, 30),
        pair: str = "scripted",
        options: AnswerOptions | None = None,
        *,
        resume: str | None = None,
        is_kept: bool = True,
        welcomes: bool = False,
        process: bool = False,
        script: Path = SCRIPT,
        toasts: bool = False,
        asked: str = "",
    ) -> AsyncIterator[Chat]:
        kind = EngineClient if process else ThreadedClient
        client = kind(tmp_path / "engine.log", [sys.executable, str(script)])
        spec = PairSpec(pair, Source("/target"), Source("/draft")) if script == SCRIPT else find(pair).spec
        link = EngineLink(client, spec)
        link.start()
        settings = Settings.of(options or AnswerOptions())
        config = checked(read_config())
        app = ChatApp(link, settings, config, resume, is_kept=is_kept, welcomes=welcomes)
        for module in ("app", "pilot"):
            monkeypatch.setattr(f"textual.{module}.wait_for_idle", partial(until_quiet, app))
        try:
            async with app.run_test(size=size, notifications=toasts) as pilot:
                chat = Chat(app, pilot)
                if asked:
                    await chat.ask(asked)
                yield chat
        finally:
            link.close()

    return running


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the app puts on the clipboard."""
    texts: list[str] = []
    monkeypatch.setattr("app.tui.program.Program.copy_to_clipboard", lambda app, text: texts.append(text))
    return texts


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(tmp_path) as terminal:
        yield terminal


FIRST, SECOND = "smollm2-1.7b", "qwen3-4b"
"""The pairs that `hub` serves."""


@pytest.fixture
def own_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    read_tokenizers_quickly(monkeypatch)


@pytest.fixture(scope="session")
def served_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    target = make_model(
        tmp_path_factory.mktemp("served"), hidden_size=256, intermediate_size=512
    )  # some 4 MB
    make_tokenizer(target)
    return files_of(target)


@pytest.fixture
def hub(
    served_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, own_hub_cache: None
) -> Iterator[HubServer]:
    """A local Hub that serves two pairs' names, a few megabytes each."""
    repos = [source.repo for name in (FIRST, SECOND) for source in find(name).spec.sources]
    with HubServer({repo: HostedModel(dict(served_files)) for repo in repos}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
