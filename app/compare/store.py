"""Kept comparisons: one JSON file each, in the data folder."""

import json
from dataclasses import dataclass
from pathlib import Path

from app.compare.record import Record, record_from_json
from app.shell.errors import BadInput, MachineFailed
from models.files import atomic_write, parse_json
from models.paths import data_folder


@dataclass(frozen=True, slots=True)
class Kept:
    """What the folder holds, the newest first."""

    records: tuple[Record, ...]
    unreadable: tuple[Path, ...]
    """Files that are no comparison of this version; left alone."""


def folder() -> Path:
    """Where they are kept, there or not."""
    return data_folder() / "comparisons"


def keep(record: Record) -> Path:
    """Write a record; what was there stays whole until the new file is.

    Raises:
        MachineFailed: it cannot be written.
    """
    file = folder() / f"{record.name}.json"
    try:
        atomic_write(file, json.dumps(record.as_json(), ensure_ascii=False))
    except OSError as error:
        raise MachineFailed(
            f"The comparison was not kept: {file} cannot be written ({error.strerror})."
        ) from error
    return file


def kept() -> Kept:
    """Read them all."""
    records: list[Record] = []
    unreadable: list[Path] = []
    for file in sorted(folder().glob("*.json"), reverse=True):
        try:
            records.append(record_from_json(parse_json(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            unreadable.append(file)
    return Kept(tuple(records), tuple(unreadable))


def find(name: str) -> Record:
    """A kept comparison by its name, by the beginning of it, or `last`.

    Raises:
        BadInput: there is none, or several begin like this.
    """
    records = kept().records
    if name == "last" and records:
        return records[0]
    found = [record for record in records if record.name.startswith(name)]
    exact = [record for record in found if record.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise BadInput(f"{len(found)} comparisons begin with '{name}'. Give more of the name.")
    if not records:
        raise BadInput("No comparison was kept yet. In the chat, /compare runs one.")
    raise BadInput(f"There is no comparison '{name}'. `mlx-spec comparisons list` names them.")


def delete(record: Record) -> None:
    """Take a record away.

    Raises:
        MachineFailed: the file cannot be removed.
    """
    file = folder() / f"{record.name}.json"
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise MachineFailed(f"{file} cannot be removed: {error.strerror}.") from error
