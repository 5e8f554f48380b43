"""The log of the engine's processes."""

import sys
from pathlib import Path

import pytest

from app.engine.client import EngineClient


def test_an_engine_starts_where_no_log_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    client = EngineClient(tmp_path / "file" / "engine.log", [sys.executable, "-c", "print('hello')"])
    client.start()
    client.close()
    assert client.returncode == 0


def test_the_log_has_what_every_engine_printed_and_begins_anew_once_it_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def log_after_one_more() -> str:
        client = EngineClient(tmp_path / "logs" / "engine.log", [sys.executable, "-c", "print('hello')"])
        client.start()
        client.close()
        return client.log_path.read_text()

    assert [log_after_one_more(), log_after_one_more()] == ["hello\n", "hello\nhello\n"]
    monkeypatch.setattr("app.engine.client.LOG_LIMIT_BYTES", 11)
    assert log_after_one_more() == "hello\n"
