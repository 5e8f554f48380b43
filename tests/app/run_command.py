"""Runs commands of the program in the process of a test."""

import json
from typing import Any

import pytest
from _pytest.capture import CaptureResult

from app.cli import main


class Cli:
    """Each call is a command; what was printed before it is dropped."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, command: str = "", *words: object, code: int = 0) -> CaptureResult[str]:
        """(out, err) of `command`, split at its blanks, and more words, which ends with this exit code."""
        self._capture.readouterr()
        assert main([*command.split(), *map(str, words)]) == code, self._capture.readouterr().err
        return self._capture.readouterr()

    def json(self, command: str, *words: object, code: int = 0) -> Any:
        """The value that it prints with --json."""
        return json.loads(self(command, *words, "--json", code=code).out)
