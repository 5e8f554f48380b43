"""The file of a batch's answers: what it held before, and disks that fill up."""

from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from app.server.batch_file import open_answers
from app.shell.errors import BadInput, MachineFailed


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
