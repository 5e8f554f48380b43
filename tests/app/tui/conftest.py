"""Runs the real app on a scripted engine, on a thread where the test does not need it to be a process."""

import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.settings.config import read_config
from app.tui.app import ChatApp
from app.tui.checked_config import checked
from app.tui.engine_link import EngineLink
from mlx_spec.types import Options
from models.pairs.pair import PairSpec, Source
from tests.app.tui.chat_driver import Chat, OpenChat, until_quiet
from tests.app.tui.engine_thread import ThreadedClient

SCRIPT = Path(__file__).parents[1] / "scripted_engine.py"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def open_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenChat:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("app.history.saving.CLOSE_SECONDS", 60)
    # An engine that is deaf to the end of its test may not end the tests.
    monkeypatch.setattr("app.engine.process.ORPHAN_SECONDS", threading.TIMEOUT_MAX)

    @asynccontextmanager
    async def running(
        size: tuple[int, int] = (100, 30),
        pair: str = "scripted",
        options: Options | None = None,
        *,
        welcomes: bool = False,
        process: bool = False,
    ) -> AsyncIterator[Chat]:
        kind = EngineClient if process else ThreadedClient
        client = kind(tmp_path / "engine.log", [sys.executable, str(SCRIPT)])
        link = EngineLink(client, PairSpec(pair, Source("/target"), Source("/draft")))
        link.start()
        app = ChatApp(link, Settings.of(options or Options()), checked(read_config()), welcomes=welcomes)
        for module in ("app", "pilot"):
            monkeypatch.setattr(f"textual.{module}.wait_for_idle", partial(until_quiet, app))
        try:
            async with app.run_test(size=size) as pilot:
                yield Chat(app, pilot)
        finally:
            link.close()

    return running
