"""The state that a killed process leaves behind goes to exactly one other process, complete."""

import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.shell import left_behind
from app.shell.left_behind import LeftBehind

Value = dict[str, list[int]]


def take_over(program: LeftBehind) -> list[Value]:
    """The values that a process takes over and keeps."""
    found: list[Value] = []

    def take(value: Value) -> Value:
        found.append(value)
        return value

    program.take_over(Value, take)
    return found


def test_what_is_kept_survives_a_kill_and_belongs_to_one_program_at_a_time(tmp_path: Path) -> None:
    first, second = LeftBehind(tmp_path), LeftBehind(tmp_path)
    first.keep({"before": [1]})
    first.keep({"now": [2]})
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert take_over(LeftBehind(tmp_path)) == [], "its program runs"
    first.close()
    with file.open("a") as stream:
        stream.write('{"cut of')
    assert take_over(second) == [{"now": [2]}]
    assert not file.exists() and take_over(LeftBehind(tmp_path)) == []
    second.close()
    third = LeftBehind(tmp_path)
    assert take_over(third) == [{"now": [2]}], "the second was killed too"
    third.drop()
    assert list(tmp_path.iterdir()) == []


def test_of_programs_that_start_at_once_one_takes_over(tmp_path: Path) -> None:
    for _ in range(8):
        gone = LeftBehind(tmp_path)
        gone.keep({"left": [1]})
        gone.close()
        starting = [LeftBehind(tmp_path) for _ in range(6)]
        with ThreadPoolExecutor(len(starting)) as pool:
            found = list(pool.map(take_over, starting))
        assert sorted(found, key=len) == [[]] * 5 + [[{"left": [1]}]]
        for program in starting:
            program.drop()


@pytest.mark.parametrize("text", ["[" * 100_000, "5", '[{"name": 1}]', "\x00", "\xff"])
def test_what_cannot_be_read_is_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "gone.jsonl").write_bytes(text.encode("latin-1") + b"\n")
    (tmp_path / "folder.jsonl").mkdir()
    assert take_over(LeftBehind(tmp_path)) == []
    assert [path.name for path in tmp_path.iterdir()] == ["folder.jsonl"]


def test_what_cannot_be_kept_by_the_next_program_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, full = LeftBehind(tmp_path), LeftBehind(tmp_path)
    gone.keep({"left": [1]})
    gone.close()

    def no_room(value: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(full, "_write", no_room)
        take_over(full)
    last = LeftBehind(tmp_path)
    assert take_over(last) == [{"left": [1]}]
    last.drop()


def test_where_there_is_room_again_after_a_full_disk_it_is_kept_again(tmp_path: Path) -> None:
    program, limits = LeftBehind(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    program.keep({"left": [1]})
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        for change in (lambda: program.keep({"left": [2]}), program.drop):
            with pytest.raises(OSError, match="too large"):
                change()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    program.keep({"left": [3]})
    program.close()
    last = LeftBehind(tmp_path)
    assert take_over(last) == [{"left": [3]}]
    last.drop()


def test_a_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_behind, "LARGEST", 200)
    program = LeftBehind(tmp_path)
    for number in range(100):
        program.keep({"left": [number]})
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size < 300
    program.close()
    last = LeftBehind(tmp_path)
    assert take_over(last) == [{"left": [99]}]
    last.drop()
