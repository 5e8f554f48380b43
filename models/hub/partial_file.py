"""Resumable downloads: a pull continues the file that an earlier pull left partial.

huggingface_hub restarts every file and deletes partial ones. So its request function fetches into a file of
our own in its cache, and huggingface_hub links the whole file. Only the download process imports this.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from httpx2 import ReadError
from huggingface_hub import hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers

from models.errors import BrokenFiles
from models.hub.client import ask_again
from models.hub.incomplete import partial_file
from models.hub.repository import HubFile, Repository
from models.pairs.folder import holds, is_checksum

_RANGE_REFUSED = 416


def fetch(repository: Repository, file: HubFile) -> bool:
    """Fetch a file into the cache, resuming a partial one; waits if another program is fetching it.

    Returns False if the file was there, or another program fetched it.

    Raises:
        BrokenFiles: it has the wrong size, or its joined parts the wrong checksum, and is deleted; or it was
            deleted meanwhile.
        HfHubHTTPError, httpx2.HTTPError, OSError: the partial file is kept.
    """
    blob = repository.blob(file)
    if blob.exists() or not is_checksum(file.blob):
        return False
    partial = partial_file(repository.source.repo, file.blob)
    partial.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as stream:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        if not _is_still(stream, partial):
            return False
        here = stream.seek(0, os.SEEK_END)
        if here > file.size:
            here = stream.truncate(0)
        has_its_size = _get(repository, file, stream)
        stream.flush()
        if not partial.exists():
            raise BrokenFiles(
                f"{file.name} of {repository.source} was deleted while it was fetched. Pull again."
            )
        if not has_its_size or (here and not holds(partial, file.blob)):
            partial.unlink()
            raise BrokenFiles(
                f"{file.name} of {repository.source} is not what the Hub announced; deleted. Pull again."
            )
        partial.replace(blob)
    return True


def _get(repository: Repository, file: HubFile, stream: BinaryIO) -> bool:
    """Fetch the rest; returns whether the file then has the size that the Hub announced."""
    url = hf_hub_url(repository.source.repo, file.name, revision=repository.commit)
    # A compressed answer cannot be resumed.
    headers = build_hf_headers() | {"Accept-Encoding": "identity"}

    def rest() -> None:
        while (here := stream.seek(0, os.SEEK_END)) < file.size:
            try:
                http_get(url, stream, resume_size=here, headers=headers, expected_size=file.size)
            except ReadError:  # a reset connection; the Hub's library goes on after other breaks only
                if stream.tell() <= here:
                    raise

    try:
        ask_again(rest)
    except OSError as error:  # HfHubHTTPError is a subclass
        status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
        if status != _RANGE_REFUSED and "Consistency check failed" not in str(error):
            raise
        return False
    return True


def _is_still(stream: BinaryIO, file: Path) -> bool:
    """Whether an open file still has its name: finished files are moved, stale ones deleted."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), file.stat())
    except FileNotFoundError:
        return False
