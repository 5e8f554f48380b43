"""A comparison as plain values and as files: JSON, CSV with a line per prompt and setting, a picture."""

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.compare.comparison import by_category, compare
from app.compare.measured import Measured
from app.compare.record import Record
from app.compare.words import circumstances, sentence
from app.engine.difference import Difference
from app.shell.errors import BadInput
from app.shell.named_file import check_place, write_text, writing
from app.shell.number_text import counted
from app.shell.printable import json_text

SUFFIXES = (".json", ".csv", ".png", ".svg")


def export(record: Record, file: Path) -> None:
    """Write one file; its suffix says which kind.

    Raises:
        BadInput: another kind of file, or no such folder.
        MachineFailed: the file cannot be written.
    """
    check_file("The file", file, SUFFIXES)
    match file.suffix.lower():
        case ".json":
            write_text(file, json_text(record.as_json()) + "\n")
        case ".csv":
            write_csv(file, record)
        case _:
            draw(file, record)


def check_file(option: str, file: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file that could not be written, before anything is measured for it.

    Args:
        option: what named the file, for the message.

    Raises:
        BadInput: another kind of file, or a place where none can be written.
    """
    if file.suffix.lower() not in suffixes:
        raise BadInput(f"{option} {file}: the name must end in {', '.join(suffixes)}.")
    check_place(option, file)


def summary(measured: list[Measured]) -> dict[str, Any]:
    """One drafting setting's figures: by prompt, by category, over all."""
    return {
        "overall": compare(measured).as_json(),
        "by_category": {name: c.as_json() for name, c in by_category(measured).items()},
        "rows": [_row(m) for m in measured],
    }


def difference_json(difference: Difference | None) -> dict[str, Any] | None:
    """A difference's fields, and whether rounding explains it."""
    return {**asdict(difference), "near_tie": difference.near_tie} if difference else None


def write_csv(file: Path, record: Record) -> None:
    """One line per drafting setting and prompt, with the facts of all on every line: files can be joined.

    Raises:
        MachineFailed: the file cannot be written.
    """
    measured = [m for place in record.drafting for m in record.measured(place)]
    lines = [{**_setting(m), **_flat(_row(m)), **_facts(record)} for m in measured]
    with writing(file), file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def draw(file: Path, record: Record) -> None:
    """Bars of a single drafting setting, lines over the draft length of several.

    Raises:
        MachineFailed: the file cannot be written.
    """
    from app.compare import plots

    counts = f"{counted(len(record.prompts), 'prompt')}, {counted(record.repeats, 'run')} each"
    title = f"{record.facts['pair']['name']}: {counts}\n{sentence(record)}"
    note = f"{circumstances(record)}\n{record.date}{', broken off' if record.broken_off else ''}"
    (plots.bars if len(record.drafting) == 1 else plots.lines)(file, record, title, note)


def _row(m: Measured) -> dict[str, Any]:
    """One prompt, flat but for the difference and the spread."""
    return {
        "id": m.prompt.id,
        "category": m.prompt.category,
        "tokens": m.plain.runs[0].tokens,
        **compare([m]).as_json(),
        "same_text": m.difference is None,
        "difference": difference_json(m.difference),
    }


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["ratio_spread"]
    nested = ("difference", "ratio_spread", "prompts", "repeats")
    return {
        **{name: value for name, value in row.items() if name not in nested},
        "ratio_low": low,
        "ratio_high": high,
    }


def _setting(m: Measured) -> dict[str, Any]:
    length = m.setting.draft_length
    return {**asdict(m.setting), "draft_length": "auto" if length is None else length}


def _facts(record: Record) -> dict[str, Any]:
    facts = record.facts
    return {
        "repeats": record.repeats,
        "date": record.date,
        "pair": facts["pair"]["name"],
        "target": facts["pair"]["target"],
        "draft": facts["pair"]["draft"],
        "device": facts["device"],
        **{f"version_{name}": version for name, version in facts.get("versions", {}).items()},
        **{f"option_{name}": value for name, value in facts["options"].items()},
        "broken_off": record.broken_off,
    }
