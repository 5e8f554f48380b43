"""The documents of a folder as tokens on disk, indexed once, then memory-mapped.

`documents/<folder and tokenizer>/<the folder's files>.npy`: both names are hashes of what the index was made
from, so a readable file of the right name is up to date.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
from jaxtyping import UInt32

from mlx_spec.token_store import TokenStore, arranged
from models.documents.folder import Listed, listed, read_texts
from models.errors import ModelsError
from models.files import locked, replacing
from models.paths import data_folder

FORMAT = 1
"""Of the index file; raise it when the arrays change their meaning."""
_TOKENIZER_FILES = tuple("tokenizer vocab merges added_tokens special_tokens sentencepiece spiece".split())
_SHOW_EVERY = 50
"""Files between two progress messages."""

Show = Callable[[str], object]
Array = UInt32[np.ndarray, "2 n"]


def open_stores(
    places: Iterable[str],
    tokenizer: Path,
    encode: Callable[[str], Sequence[int]],
    show: Show = lambda text: None,
) -> tuple[list[TokenStore], list[str]]:
    """As `open_store`, for several places. A place that fails is skipped, with its error among the notes."""
    stores: list[TokenStore] = []
    notes: list[str] = []
    for place in places:
        try:
            store, more = open_store(Path(place), tokenizer, encode, show)
            stores.append(store)
            notes += more
        except ModelsError as error:
            notes.append(str(error))
    return stores, notes


def open_store(
    place: Path, tokenizer: Path, encode: Callable[[str], Sequence[int]], show: Show = lambda text: None
) -> tuple[TokenStore, list[str]]:
    """The store of a folder or a file, indexed if it is new or a file changed; and notes for the user.

    Args:
        tokenizer: the folder of the tokenizer's files.
        encode: from a text to the tokenizer's ids.
        show: called with progress messages while indexing.

    Raises:
        BadChoice: there is no text, or too much.
        MachineTrouble: the place cannot be read.
    """
    files = listed(place)
    folder = data_folder() / "documents" / _name(place, _fingerprint(tokenizer))
    file = folder / f"{_name(FORMAT, *files)}.npy"
    if store := _mapped(file):
        return store, []
    with ExitStack() as stack:
        with suppress(OSError):  # an index that cannot be saved still serves this run
            stack.enter_context(locked(folder))
        if store := _mapped(file):  # another program was first
            return store, []
        with suppress(OSError):  # first: they hold texts that may be no more
            for old in folder.iterdir():
                old.unlink()
        array, notes = _indexed(place, files, encode, show)
        return _saved(array, file, notes), notes


def _indexed(
    place: Path, files: list[Listed], encode: Callable[[str], Sequence[int]], show: Show
) -> tuple[Array, list[str]]:
    texts, notes = read_texts(place, files)
    documents: list[np.ndarray] = []
    for done, text in enumerate(texts):
        if done % _SHOW_EVERY == 0:
            show(f"Indexing {place}, once: {done} of {len(texts)} files")
        documents.append(np.array(encode(text), np.uint32))
    show(f"Indexing {place}, once: sorting {sum(map(len, documents)):,} tokens")
    return arranged(documents), notes


def _saved(array: Array, file: Path, notes: list[str]) -> TokenStore:
    """Save the array and map it; it is used from memory if that fails."""
    try:
        with replacing(file) as out:
            np.save(out, array)
    except OSError as error:
        why = error.strerror or "the disk is full"  # NumPy has no reason for what was not written
        notes.append(f"The index of the documents is not kept in {file.parent}: {why}.")
    return _mapped(file) or TokenStore(array)


def _mapped(file: Path) -> TokenStore | None:
    """None if the file is missing, of another size than its header says, or not a token store."""
    try:
        array = np.load(file, mmap_mode="r")
        ours = array.dtype == np.uint32 and array.ndim == 2 and len(array) == 2 and array.flags.c_contiguous
        whole = array.offset + array.nbytes == file.stat().st_size
        return TokenStore(array) if ours and whole else None
    except Exception:  # NumPy reads the header as Python code: damaged, it fails in many ways
        return None


def _fingerprint(tokenizer: Path) -> str:
    named = sorted(file for file in tokenizer.iterdir() if file.name.startswith(_TOKENIZER_FILES))
    return _name(*(sha256(file.read_bytes()).hexdigest() for file in named if file.is_file()))


def _name(*facts: object) -> str:
    return sha256(repr(facts).encode()).hexdigest()[:16]
