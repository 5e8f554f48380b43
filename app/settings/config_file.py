"""Writing one setting into the person's config.toml; every other character of the file stays as it is."""

import json
import re
import tomllib
from contextlib import suppress
from pathlib import Path

from app.shell.errors import MachineFailed
from models.files import atomic_write, locked


def write_setting(file: Path, name: str, value: str) -> None:
    """Set a top-level key; the file is replaced atomically."""
    file = file.resolve()  # a link into somebody's dotfiles stays a link
    try:
        with locked(file.parent):
            text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
            wanted = tomllib.loads(text) | {name: value}
            changed, found = _with_setting(text, name, value), None
            with suppress(ValueError):
                found = tomllib.loads(changed)
            if found != wanted:
                raise MachineFailed(f"{file} sets {name} in a way that is not understood. Change it there.")
            atomic_write(file, changed, file.stat().st_mode & 0o777 if file.exists() else 0o600)
    except (OSError, ValueError, RecursionError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise MachineFailed(f"{name} cannot be written to {file}: {why}.") from error


def _with_setting(text: str, name: str, value: str) -> str:
    """The text with the top-level key replaced, or added as the first line."""
    written = f"{name} = {json.dumps(value)}"
    head = re.split(r"^[ \t]*\[", text, maxsplit=1, flags=re.MULTILINE)[0]
    known = rf"""^[ \t]*{re.escape(name)}\s*=\s*("[^"\\]*"|'[^']*'|[^\s"'#]+)(?=\s*(#|$))"""
    changed, found = re.subn(known, lambda _: written, head, count=1, flags=re.MULTILINE)
    end = "\r\n" if "\r\n" in text else "\n"
    return changed + text[len(head) :] if found else written + end + text
