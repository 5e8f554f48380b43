"""A comparison as files: JSON with everything, CSV with a line per prompt and setting, a picture."""

from pathlib import Path
from typing import Any

from app.compare.bench.report import row, write_csv
from app.compare.record import Record
from app.compare.words import circumstances, sentence
from app.shell.counted import counted
from app.shell.errors import BadInput
from app.shell.output_file import write_text
from app.shell.printable import json_text

SUFFIXES = (".json", ".csv", ".png", ".svg")


def export(record: Record, file: Path) -> None:
    """Write one file; its suffix says which kind.

    Raises:
        BadInput: another kind of file, or no such folder.
        MachineFailed: the file cannot be written.
    """
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"{file}: the name must end in {', '.join(SUFFIXES)}.")
    if not file.absolute().parent.is_dir():
        raise BadInput(f"{file}: there is no folder {file.absolute().parent}.")
    match suffix:
        case ".json":
            write_text(file, json_text(record.as_json()) + "\n")
        case ".csv":
            write_csv(file, rows(record))
        case _:
            _draw(record, file)


def rows(record: Record) -> list[dict[str, Any]]:
    """One per drafting setting and prompt, each beside its plain runs."""
    found: list[dict[str, Any]] = []
    for place in record.drafting:
        setting = record.settings[place]
        about = {
            "drafter": setting.drafter,
            "draft_length": "auto" if setting.draft_length is None else setting.draft_length,
            "temperature": setting.temperature,
        }
        found += [{**about, **row(measured), **_facts(record)} for measured in record.measured(place)]
    return found


def _facts(record: Record) -> dict[str, Any]:
    """The same on every line, so that lines of several files can stand in one table."""
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


def _draw(record: Record, file: Path) -> None:
    facts = record.facts
    counts = f"{counted(len(record.prompts), 'prompt')}, {counted(record.repeats, 'run')} each"
    title = f"{facts['pair']['name']}: {counts}"
    note = f"{circumstances(record)}\n{record.date}{', broken off' if record.broken_off else ''}"
    if len(record.drafting) == 1:
        from app.compare.bench.plot import plot

        (place,) = record.drafting
        note = f"{note}, {record.settings[place].label}"
        plot(file, record.categories(place), record.comparison(place), title, note)
    else:
        from app.compare.sweep_plot import plot_lengths

        plot_lengths(file, record, f"{title}\n{sentence(record)}", note)
