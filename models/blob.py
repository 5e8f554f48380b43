"""Files of the Hub's cache are named by their content: a damaged one does not hold what its name says."""

import hashlib
import re
from pathlib import Path

_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_READ_BYTES = 1 << 22


def is_as_named(blob: Path) -> bool:
    """Whether the file's name is the checksum of its content. False for every other name.

    Large files are named by their SHA-256, small ones as Git names them.

    Raises:
        OSError: the file cannot be read.
    """
    if _SHA256.fullmatch(blob.name):
        digest = hashlib.sha256()
    elif _SHA1.fullmatch(blob.name):
        digest = hashlib.sha1(b"blob %d\0" % blob.stat().st_size, usedforsecurity=False)
    else:
        return False
    with blob.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest() == blob.name
