"""Where the engine's process writes what it says beside its answers."""

import sys
from pathlib import Path

from app.engine.client import EngineClient


def test_an_engine_starts_where_no_log_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    client = EngineClient(tmp_path / "file" / "engine.log", [sys.executable, "-c", "print('hello')"])
    client.start()
    client.close()
    assert client.returncode == 0
