"""Text files attached to a prompt: read, or refused with the reason. Knows no screen."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from app.history.records import Attachment
from app.shell.errors import BadInput
from app.shell.named_file import plain_file, written_out
from app.shell.printable import one_line
from app.shell.prompt_source import read_text

LARGEST_BYTES = 4 * 2**20

PASTED = "pasted text"
"""The name of a long paste, which is attached."""

CHARACTERS_PER_TOKEN = 4
"""Approximate, for English text and code."""

_MENTION = re.compile(r"""(?<!\S)@(?:"([^"]+)"|(\S+))""")
_NAMED = re.compile(r"""(?<!\S)(?:@?(["'])(.+?)\1(?!\S)|@(\S+))""")
_FILE_NAME = re.compile(r"[\w-]+\.\w{1,5}")
_FILE_PATH = re.compile(r"[~./].*|[\w./+ -]+/[\w.+ -]+\.\w{1,5}")
"""Not `@types/node` or `@app.route("/")`."""
_BEHIND = ".,;:!?)]}'\""


def attach(path: Path, context_limit: int | None) -> Attachment:
    """Read a text file.

    Raises:
        BadInput: it is missing, a folder, no text, or too large for `context_limit` tokens.
    """
    shown, file = one_line(str(path)), plain_file(str(path))
    if os.path.isdir(file):
        raise BadInput(f"{shown} is a folder. Attach its files one by one.")
    text = read_text(file, LARGEST_BYTES).replace("\r\n", "\n")
    if not text.strip():
        raise BadInput(f"{shown} is empty.")
    tokens = len(text) // CHARACTERS_PER_TOKEN
    if context_limit is not None and tokens > context_limit:
        raise BadInput(
            f"{shown} has about {tokens:,} tokens; the pair's context holds {context_limit:,}. "
            "Attach a part of it, or choose a pair with a longer context."
        )
    return Attachment(file.name, text)


def mentioned(text: str) -> list[Path]:
    """The paths named `@path` or `@"path with blanks"`; an @ before anything else is just text."""
    named = (_path(quoted or plain) for quoted, plain in _MENTION.findall(text))
    return list(dict.fromkeys(path for path in named if path is not None))


def without(files: Sequence[Attachment], read_again: Sequence[Attachment]) -> list[Attachment]:
    """A sent prompt's files without those that its text named, the last ones, which were read again."""
    names, kept = [file.name for file in read_again], list[Attachment]()
    for file in reversed(files):
        if file.name in names:
            names.remove(file.name)
        else:
            kept.insert(0, file)
    return kept


def dropped(text: str) -> list[str]:
    """The files whose names a terminal pastes, quoted for a shell, when they are dropped on it."""
    try:
        paths = shlex.split(text)
        return paths if all(path.startswith("/") and Path(path).is_file() for path in paths) else []
    except (OSError, ValueError):  # a name longer than any file's; an unclosed quote, or a NUL
        return []


def mention(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def unmarked(text: str) -> str:
    """The text with paths in place of `@path` and of paths in quotes, as a command takes them."""
    return _NAMED.sub(lambda named: named[2] or named[3], text)


def mistyped(text: str) -> list[str]:
    """Names in quotes after an @, or that look like files, which do not exist: `@notse.md`. They are sent as
    text, as code may have them."""
    missing = (found for found in _MENTION.findall(text) if _path(found[0] or found[1]) is None)
    names = ((quoted, plain.rstrip(_BEHIND)) for quoted, plain in missing)
    return list(
        dict.fromkeys(quoted or name for quoted, name in names if quoted or _FILE_NAME.fullmatch(name))
    )


def _path(written: str) -> Path | None:
    """A path that exists, or looks like one with a folder: then a missing file is reported."""
    path, bare = Path(written), Path(written.rstrip(_BEHIND) or written)
    try:
        if written_out(path).exists():
            return path
        named = len(bare.parts) > 1 and _FILE_PATH.fullmatch(str(bare))
        return bare if named or written_out(bare).exists() else None
    except OSError:
        return None
