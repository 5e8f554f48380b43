"""Where a prompt comes from: an argument, a file or stdin, exactly one of them."""

import sys
from pathlib import Path

from app.shell.errors import BadInput
from app.shell.printable import one_line

LARGEST_PROMPT = 16 * 2**20
"""Bytes. More than any model reads; a larger file was named by mistake."""


def read_prompt(text: str | None, file: Path | None) -> str:
    """The prompt's text, from `--prompt`, `--prompt-file` or stdin."""
    if text is not None and file is not None:
        raise BadInput("Give --prompt or --prompt-file, not both.")
    if text is not None:
        source = "--prompt"
    elif file is not None:
        text, source = read_text(file), str(file)
    elif sys.stdin.isatty():
        raise BadInput("No prompt. Give --prompt TEXT or --prompt-file FILE, or pipe text in.")
    else:
        text, source = decoded(sys.stdin.buffer.read(LARGEST_PROMPT + 1), "stdin"), "stdin"
    if not text.strip():
        raise BadInput(f"The prompt from {source} is empty.")
    try:
        text.encode()
    except UnicodeEncodeError as error:  # surrogates: the argument's bytes were not UTF-8
        raise BadInput(f"{source} is not UTF-8 text (character {error.start}). Convert it first.") from None
    return text


def read_text(file: Path, largest: int = LARGEST_PROMPT) -> str:
    """The text of a UTF-8 file of at most `largest` bytes."""
    name = one_line(str(file))
    try:
        with file.open("rb") as stream:
            return decoded(stream.read(largest + 1), name, largest)
    except FileNotFoundError:
        stdin = " For stdin name /dev/stdin." if name == "-" else ""
        raise BadInput(f"There is no file {name}.{stdin}") from None
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from error


def decoded(content: bytes, source: str, largest: int = LARGEST_PROMPT) -> str:
    """UTF-8 bytes as text."""
    if len(content) > largest:
        raise BadInput(f"{source} is larger than {largest // 2**20} MB, the most that is read here.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not UTF-8 text (byte {error.start}). Convert it first.") from None
    if "\0" in text:
        raise BadInput(f"{source} is a binary file, not text (it holds a NUL byte).")
    return text
