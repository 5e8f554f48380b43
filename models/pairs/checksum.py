"""Files of the Hub's cache are named by their content: a damaged one does not hold what its name says."""

import hashlib
import re
from pathlib import Path

_SHA1_LENGTH = 40


def is_checksum(name: str) -> bool:
    """Whether it is SHA-256, as of large files, or Git's sum, as of small ones."""
    return bool(re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name))


def holds(file: Path, name: str) -> bool:
    """Whether a name is the checksum of what a file holds. False for every name that is none.

    Raises:
        OSError: the file cannot be read.
    """
    if not is_checksum(name):
        return False
    digest = hashlib.sha256()
    if len(name) == _SHA1_LENGTH:
        digest = hashlib.sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest() == name
