"""A batch: the file of its answers, what that held before, disks that fill up, and its time."""

import asyncio
import threading
import time
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from app.server.batch import answer_all
from app.server.batch_file import BatchRequest, open_answers
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput, MachineFailed
from models.pairs.pair import PairSpec, Source
from models.paths import data_folder
from tests.app.tui import engine_thread


@pytest.mark.parametrize("content", ['{"name": "settings"}', "text", '{"custom_id": "r1", "method"'])
def test_a_file_of_one_line_without_an_end_is_kept_unless_the_line_is_an_answers(
    content: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    out.write_text(content)
    with pytest.raises(BadInput, match="out.json holds something else"), open_answers(out, ["r1"]):
        pass
    assert out.read_text() == content


def test_a_disk_that_fills_up_within_a_line_leaves_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(FileIO):
        def write(self, content: Any) -> int:
            return super().write(content[:30])

    out = tmp_path / "out.jsonl"
    line = b'{"custom_id": "r1", "response": {"status_code": 200}}\n'
    out.write_bytes(line + b'{"id": "batch_req_')
    monkeypatch.setattr("app.server.batch_file.open", lambda *_, **__: Full(out, "a+"), raising=False)
    with open_answers(out, ["r2"]) as found, pytest.raises(MachineFailed, match="No space left"):
        found.add("r2", 200, {})
    assert out.read_bytes() == line


def test_the_time_that_the_pair_takes_to_load_is_none_of_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.service.EngineClient", engine_thread.ThreadedClient)
    data_folder().mkdir(parents=True, exist_ok=True)
    before, pair = time.monotonic(), PairSpec("slow to load", Source("test/target"), None)
    threading.Timer(0.3, (data_folder() / "load").touch).start()
    body = {"messages": [{"role": "user", "content": "hello"}]}
    asked = BatchRequest(custom_id="r1", method="POST", url="/v1/chat/completions", body=body)
    with open_answers(tmp_path / "out.jsonl", ["r1"]) as found:
        outcome = asyncio.run(answer_all(pair, AnswerOptions(), [asked], found, 1))
    assert found.answered == {"r1"} and outcome.begun >= before + 0.3
