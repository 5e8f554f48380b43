"""Kept comparisons: one JSON file each, in the data folder."""

import json
from pathlib import Path
from typing import NamedTuple

from app.compare.plan import plain_of
from app.compare.record import Record, record_from_json
from app.shell.errors import BadInput, MachineFailed
from app.shell.named_file import writing
from app.shell.number_text import counted, rate_text
from models.files import atomic_write, parse_json
from models.paths import data_folder


class Kept(NamedTuple):
    """The saved comparisons, the newest first."""

    records: tuple[Record, ...]
    unreadable: tuple[Path, ...]
    """Files that this version cannot read; left alone."""


def keep(record: Record) -> Path:
    file = _folder() / f"{record.name}.json"
    with writing(file):
        atomic_write(file, json.dumps(record.as_json(), ensure_ascii=False))
    return file


def kept() -> Kept:
    records: list[Record] = []
    unreadable: list[Path] = []
    for file in sorted(_folder().glob("*.json"), reverse=True):
        try:
            records.append(record_from_json(parse_json(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            unreadable.append(file)
    return Kept(tuple(records), tuple(unreadable))


def last_speeds() -> dict[str, str]:
    """By pair name, a sentence about its newest comparison here; pairs never compared are absent."""
    found: dict[str, str] = {}
    for record in kept().records:
        name, target = record.facts["pair"]["name"], record.facts["pair"].get("target")
        # A server's pair has its address as target, and may be on another machine.
        if name in found or "://" in str(target):
            continue
        best = max(record.drafting, key=record.speed)
        if not record.speed(best):  # no answer had a second token
            continue
        plain = record.speed(plain_of(record.settings, best))
        found[name] = (
            f"{rate_text(plain)} tok/s plain, {rate_text(record.speed(best))} with "
            f"{record.settings[best].name}, {record.date[:10]}, {counted(len(record.prompts), 'prompt')}"
        )
    return found


def find(name: str) -> Record:
    """A saved comparison by its name, the beginning of its name, or `last`."""
    records = kept().records
    if not records:
        raise BadInput("No comparison was saved yet. In the chat, /compare runs one.")
    if name == "last":
        return records[0]
    found = [record for record in records if record.name.startswith(name)]
    found = [record for record in found if record.name == name] or found
    if not found:
        raise BadInput(f"There is no comparison '{name}'. `mlx-spec comparisons list` names them.")
    if len(found) > 1:
        raise BadInput(f"{len(found)} comparisons begin with '{name}'. Give more of the name.")
    return found[0]


def delete(record: Record) -> None:
    file = _folder() / f"{record.name}.json"
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise MachineFailed(f"{file} cannot be removed: {error.strerror}.") from error


def _folder() -> Path:
    return data_folder() / "comparisons"
