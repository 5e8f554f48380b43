"""The measured answers, saved one by one, so that an interrupted run can resume."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from app.shell.errors import BadInput
from benchmarks.peers.answering import Answer
from models.files import atomic_write

Key = tuple[str, int, float, str, str]
"""(phase, repeat, temperature, prompt id, name of the side)"""


@dataclass(frozen=True, slots=True)
class Record:
    """One answer of one side to one prompt."""

    phase: str
    repeat: int
    temperature: float
    prompt: str
    category: str
    side: str
    way: str
    length: int | None
    answer: Answer

    @property
    def key(self) -> Key:
        return (self.phase, self.repeat, self.temperature, self.prompt, self.side)


class Records:
    """All records of a run, in memory and, given a file, on disk line by line.

    Raises:
        BadInput: the file holds a run with other settings, or is not a file of records.
    """

    def __init__(self, settings: dict[str, Any], file: Path | None = None) -> None:
        self._found: dict[Key, Record] = {}
        self._file = file
        if file is None:
            return
        if file.exists():
            self._read(file, settings)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings) + "\n", encoding="utf-8")

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def __len__(self) -> int:
        return len(self._found)

    def add(self, record: Record) -> None:
        """Add a record and save it."""
        self._found[record.key] = record
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(record)) + "\n")

    def of(self, phase: str) -> list[Record]:
        """The records of one phase, in the order they were measured."""
        return [record for record in self._found.values() if record.phase == phase]

    def _read(self, file: Path, settings: dict[str, Any]) -> None:
        try:
            first, *rest = file.read_text(encoding="utf-8").splitlines(keepends=True)
            same = json.loads(first) == settings
            if same and rest and not rest[-1].endswith("\n"):
                # The run ended while writing this record: measure it again.
                rest.pop()
                atomic_write(file, first + "".join(rest))
            for line in rest if same else ():
                record = TypeAdapter(Record).validate_json(line)
                self._found[record.key] = record
        except (OSError, ValueError) as error:
            raise BadInput(f"--records {file} cannot be used: {error}. Name another file.") from error
        if not same:
            raise BadInput(f"--records {file} holds a run with other settings. Name another file.")
