"""A real lack of memory: the engine's process may take hardly any more, and is asked for a lot."""

import sys
from pathlib import Path

import pytest

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.tui.app import ChatApp
from mlx_spec.types import Options
from models.pairs.resolve import resolve
from tests.app.tui.chat_driver import Chat

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space hold on Linux")
async def test_an_engine_out_of_memory_is_told_nothing_is_lost_and_the_chat_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    script = str(ROOT / "tests/app/limited_engine.py")
    link = EngineLink(EngineClient(tmp_path / "engine.log", [sys.executable, script]), resolve())
    link.start()
    app = ChatApp(link, Settings.of(Options(max_tokens=16)))
    try:
        async with app.run_test(size=(100, 30)) as pilot:
            chat = Chat(app, pilot)
            await chat.ask("What is a draft?")
            await chat.type("word and " * 900)
            await chat.until(lambda: app.state.running is None)
            await chat.told("memory")
            assert len(chat.answers) == 1 and app.chat.prompt.area.text.startswith("word and")
            app.chat.prompt.area.clear()
            assert (await chat.ask("What is a target?")).text
    finally:
        link.close()
