"""Files of the Hub's cache are named by their content: a damaged one does not hold what its name says."""

import hashlib
import re
from pathlib import Path

_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_READ_BYTES = 1 << 22


def is_checksum(name: str) -> bool:
    """Whether a name says what a file holds: SHA-256 for large files, Git's sum for small ones."""
    return bool(_SHA256.fullmatch(name) or _SHA1.fullmatch(name))


def holds(file: Path, name: str) -> bool:
    """Whether a name is the checksum of what a file holds. False for every name that is none.

    Raises:
        OSError: the file cannot be read.
    """
    if not is_checksum(name):
        return False
    if _SHA256.fullmatch(name):
        digest = hashlib.sha256()
    else:
        digest = hashlib.sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)
    with file.open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest() == name
