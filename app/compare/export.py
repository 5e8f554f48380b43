"""A comparison as plain values and as files: JSON, CSV with a line per prompt and setting, a picture."""

import csv
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from app.compare.comparison import Measured, by_category, compare
from app.compare.plots import draw
from app.compare.record import Record
from app.engine.difference import Difference
from app.shell.errors import BadInput
from app.shell.named_file import check_place, write_text
from app.shell.printable import json_text

SUFFIXES = (".json", ".csv", ".png", ".svg")
OF_THE_PAIR = ("target", "draft", "draft_head", "drafters", "drafter_bits", "documents")
"""Columns of a CSV file; see `PairSpec.as_json`."""


def export(record: Record, file: Path) -> None:
    check_file("The file", file, SUFFIXES)
    if file.suffix.lower() == ".json":
        write_text(file, json_text(record.as_json()) + "\n")
    else:
        (write_csv if file.suffix.lower() == ".csv" else draw)(file, record)


def check_file(option: str, file: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse, before measuring, a file that cannot be written; `option` is the flag that named it."""
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
    return {**asdict(difference), "near_tie": difference.near_tie} if difference else None


def write_csv(file: Path, record: Record) -> None:
    """One line per drafting setting and prompt, each with the record's facts, so that files can be joined."""
    lines = [_csv_line(record, m) for place in record.drafting for m in record.measured(place)]
    text = StringIO(newline="")
    writer = csv.DictWriter(text, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    write_text(file, text.getvalue())


def _row(m: Measured) -> dict[str, Any]:
    return {
        "id": m.prompt.id,
        "category": m.prompt.category,
        "tokens": m.plain[0].tokens,
        **compare([m]).as_json(),
        "same_text": m.difference is None,
        "difference": difference_json(m.difference),
    }


def _csv_line(record: Record, m: Measured) -> dict[str, Any]:
    row, facts, length = _row(m), record.facts, m.setting.draft_length
    pair = {**facts["pair"], "drafters": " ".join(facts["pair"].get("drafters", ()))}
    low, high = row["ratio_spread"] or (None, None)
    for name in ("ratio_spread", "difference", "prompts", "repeats"):
        del row[name]
    return {
        **asdict(m.setting),
        "draft_length": "auto" if length is None else length,
        **row,
        "ratio_low": low,
        "ratio_high": high,
        "repeats": record.repeats,
        "date": record.date,
        "pair": pair["name"],
        **{name: pair.get(name, "") for name in OF_THE_PAIR},
        "raw": facts.get("raw", False),
        "device": facts["device"],
        "blas": facts.get("blas", ""),
        "compiled": facts.get("compiled", ""),
        **{f"version_{name}": version for name, version in facts.get("versions", {}).items()},
        **{f"option_{name}": value for name, value in facts["options"].items()},
        "broken_off": record.broken_off,
    }
