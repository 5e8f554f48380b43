"""Writing one of our own small files: all of the new text is there, or the old file still is."""

import os
import tempfile
from pathlib import Path


def write_whole(file: Path, text: str, mode: int = 0o600) -> None:
    """Write a file in its place at once; its folder is made, for the person alone, where there is none.

    Several programs may write it at a time: the last one's text stays. What is written after what was read
    goes inside `locked` (`models.locks`).

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(handle, "wb") as out:
            os.fchmod(handle, mode)
            out.write(text.encode())
            out.flush()
            os.fsync(handle)
        os.replace(draft, file)
    except BaseException:
        os.unlink(draft)
        raise
