"""Writing one setting into the person's config.toml; every other character of the file stays as it is."""

import json
import re
import tomllib
from pathlib import Path

from app.shell.errors import MachineFailed
from models.files import atomic_write, locked

_TABLE = re.compile(r"^\s*\[")


def write_setting(file: Path, name: str, value: str) -> None:
    """Set a key that stands before all tables, in the file's place at once.

    Raises:
        MachineFailed: the file is no TOML, sets the key in some other way, or cannot be written.
    """
    file = file.resolve()  # a link into somebody's dotfiles stays a link
    try:
        with locked(file.parent):
            text = file.read_bytes().decode() if file.exists() else ""
            before = tomllib.loads(text)
            changed = _with_setting(text, name, value)
            if tomllib.loads(changed) != before | {name: value}:
                raise MachineFailed(f"{file} sets {name} in a way that is not understood. Change it there.")
            atomic_write(file, changed, file.stat().st_mode & 0o777 if file.exists() else 0o600)
    except (OSError, ValueError, RecursionError) as error:
        raise MachineFailed(f"{name} cannot be written to {file} ({error}).") from error


def _with_setting(text: str, name: str, value: str) -> str:
    lines = text.splitlines(keepends=True)
    head = next((n for n, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    end = "\r\n" if "\r\n" in text else "\n"
    written = f"{name} = {json.dumps(value)}"
    known = re.compile(rf"""\s*{re.escape(name)}\s*=\s*("[^"\\]*"|'[^']*'|[^\s"'#]+)(?=\s*(#|$))""")
    commented = re.compile(rf"\s*#\s*{re.escape(name)}\s*=")
    for n, line in enumerate(lines[:head]):
        if known.match(line):
            lines[n] = known.sub(lambda _: written, line, count=1)
            return "".join(lines)
    while 0 < head < len(lines) and lines[head - 1].lstrip().startswith("#"):
        head -= 1  # what is said of the first table stays with it
    place = next((n + 1 for n, line in enumerate(lines[:head]) if commented.match(line)), head)
    if place and not lines[place - 1].endswith("\n"):
        lines[place - 1] += end
    gap = end if place == head < len(lines) else ""
    return "".join([*lines[:place], written + end + gap, *lines[place:]])
