"""Completions of the `@` in a prompt: files below the working folder, or of a folder that is named."""

import os
import re
from pathlib import Path

LIMIT = 5000
SHOWN = 8
LEFT_OUT = {"node_modules", "__pycache__", "build", "dist", "target", "venv"}


def files_below(folder: Path) -> list[str]:
    """Relative paths of files, hidden ones and folders of generated files left out."""
    out: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in LEFT_OUT)
        relative = Path(place).relative_to(folder)  # asks for no current folder, which may be gone
        out += [str(relative / name) for name in sorted(names) if not name.startswith(".")]
        if len(out) >= LIMIT:
            break
    return out[:LIMIT]


def matching(paths: list[str], typed: str) -> list[str]:
    """The paths that contain the typed characters in order, best match first; a folder ends with a /."""
    if typed.startswith(("/", "~", "..")):
        return _in_folder(typed)
    order = re.compile(".*?".join(map(re.escape, typed)), re.IGNORECASE)
    whole = re.compile(re.escape(typed), re.IGNORECASE)  # `order` may begin earlier and end later
    found = [
        (match.end() - match.start(), len(path), path)
        for path in paths
        if (match := whole.search(path) or order.search(path))
    ]
    return [path for _, _, path in (sorted(found) if typed else found)[:SHOWN]]


def _in_folder(typed: str) -> list[str]:
    head, _, begin = typed.rpartition("/")
    try:
        names = sorted(os.listdir(os.path.expanduser(head or "/")))
    except OSError:
        return []
    fitting = (n for n in names if n.lower().startswith(begin.lower()) and not n.startswith("."))
    paths = [f"{head}/{name}" for name in fitting][:SHOWN]
    return [f"{path}/" if os.path.isdir(os.path.expanduser(path)) else path for path in paths]
