"""Files whose text goes with a prompt: read, or refused with the reason. Knows no screen."""

import re
from pathlib import Path

from app.errors import BadInput
from app.history.records import Attachment
from app.printable import one_line

LARGEST_BYTES = 4_000_000
"""No context holds more."""

CHARACTERS_PER_TOKEN = 4
"""Of English text and of code, about."""

_MENTION = re.compile(r"""(?<!\S)@(?:"([^"]+)"|(\S+))""")


def attach(path: Path, context_limit: int | None) -> Attachment:
    """Read a text file.

    Raises:
        BadInput: it is missing, a folder, no text, or too large for `context_limit` tokens.
    """
    shown = one_line(str(path))
    path = path.expanduser()
    try:
        if path.is_dir():
            raise BadInput(f"{shown} is a folder. Attach its files one by one.")
        if not path.is_file():
            what = "is no plain file" if path.exists() else "does not exist"
            raise BadInput(f"{shown} {what}, so it cannot be attached.")
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise BadInput(f"{shown} has {size:,} bytes; at most {LARGEST_BYTES:,} can be attached.")
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{shown} cannot be read: {error.strerror}.") from error
    if b"\0" in content:
        raise BadInput(f"{shown} is no UTF-8 text (it has zero bytes), so it cannot be attached.")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeError:
        raise BadInput(f"{shown} is no UTF-8 text, so it cannot be attached.") from None
    if not text.strip():
        raise BadInput(f"{shown} is empty.")
    tokens = len(text) // CHARACTERS_PER_TOKEN
    if context_limit is not None and tokens > context_limit:
        raise BadInput(
            f"{shown} has about {tokens:,} tokens; the pair's context holds {context_limit:,}. "
            "Attach a part of it, or choose a pair with a longer context."
        )
    return Attachment(path.name, text)


def mentioned(text: str) -> list[Path]:
    """The paths named `@path` or `@"path with blanks"`; an @ before anything else is just text."""
    paths = (Path(quoted or plain) for quoted, plain in _MENTION.findall(text))
    return list(dict.fromkeys(path for path in paths if _names_a_file(path)))


def _names_a_file(path: Path) -> bool:
    """It exists, or is written like a path: then its absence is told."""
    try:
        return path.expanduser().exists() or len(path.parts) > 1
    except (OSError, RuntimeError):
        return False
