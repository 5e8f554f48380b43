"""What a program does once is done once, and a tiny pair on disk, written once, for all its tests."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main

from app.shell import machine
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair, write_tiny_pair


@pytest.fixture(scope="session", autouse=True)
def _what_a_program_does_once_is_done_once() -> Iterator[None]:
    """To build all commands, or to read the versions of packages, takes as long as most tests of one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        patch.setattr(machine, "version", cache(machine.version))
        yield


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory: pytest.TempPathFactory) -> TinyPair:
    return write_tiny_pair(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capfd)


@pytest.fixture
def three_prompts(tmp_path: Path) -> Path:
    """A small prompt set of two categories."""
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        '{"id": "a", "category": "one", "prompt": "hello there"}\n'
        '{"id": "b", "category": "one", "prompt": "abcabcabc"}\n'
        "\n"
        '{"id": "c", "category": "two", "prompt": "1 2 3"}\n'
    )
    return file


@pytest.fixture
def one_prompt(tmp_path: Path) -> Path:
    """A prompt in which the lookup drafter finds a match."""
    file = tmp_path / "prompt.jsonl"
    file.write_text('{"id": "b", "category": "one", "prompt": "abcd abcd"}\n')
    return file


@pytest.fixture(autouse=True)
def nothing_is_measured_at_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of other things: the measuring at first use is skipped, and nothing is saved."""
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "mlx-spec"))
    monkeypatch.setattr("mlx_spec.calibrate.SECONDS", 0.0)
