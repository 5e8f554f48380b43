"""Documents on disk: indexed once, again after a change, and never half written."""

import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mlx_spec.token_store import TokenStore
from models.documents import folder as documents_folder
from models.documents.folder import named_documents
from models.documents.store import open_store, open_stores
from models.errors import BadChoice, BadSource, MachineTrouble
from models.paths import data_folder

TEXT = "the target checks what the draft guessed"


def rest(store: TokenStore, text: str) -> list[int]:
    """What is drafted after the first half of a text."""
    half = text.encode()[: len(text.encode()) // 2]
    _, found = store.longest_match(list(half))
    return store.following(found, 200)


class Place:
    """A folder of texts, and a byte tokenizer that counts the texts it encodes."""

    def __init__(self, root: Path) -> None:
        self.folder, self.tokenizer = root / "texts", root / "model"
        self.read: list[str] = []
        self.told: list[str] = []
        self.write("notes.md", TEXT)
        (self.tokenizer / "tokenizer").mkdir(parents=True)  # some repositories have such a folder
        (self.tokenizer / "tokenizer.json").write_text("{}")

    def write(self, name: str, text: str | bytes) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def encode(self, text: str) -> list[int]:
        self.read.append(text)
        return list(text.encode())

    def holds(self, text: str) -> bool:
        """Whether the second half of a text is drafted after its first half."""
        store, _ = open_store(self.folder, self.tokenizer, self.encode, self.told.append)
        return bytes(rest(store, text)).startswith(text.encode()[len(text.encode()) // 2 :])

    def kept(self) -> list[Path]:
        return sorted((data_folder() / "documents").rglob("*.npy"))


@pytest.fixture
def place(home: Path) -> Place:
    return Place(home)


def test_documents_are_indexed_once_and_mapped_from_then_on(place: Place) -> None:
    assert place.holds(TEXT) and place.read == [TEXT]
    assert place.told[0] == f"Indexing {place.folder}, once: 0 of 1 files" and "sorting" in place.told[-1]
    place.told.clear()
    assert place.holds(TEXT) and place.read == [TEXT] and not place.told
    assert len(place.kept()) == 1


def replaced(file: Path, part: bytes, by: bytes) -> None:
    content = file.read_bytes()
    assert part in content
    file.write_bytes(content.replace(part, by))


CHANGES: dict[str, Callable[[Place], object]] = {
    "a file more": lambda place: place.write("inside/more.txt", "another text that is quite new"),
    "an edit": lambda place: place.write("notes.md", TEXT.replace("target", "TARGET")),
    "the same size, an older time": lambda place: os.utime(place.write("notes.md", TEXT.upper()), (1, 1)),
    "another name": lambda place: (place.folder / "notes.md").rename(place.folder / "other.md"),
    "another tokenizer": lambda place: (place.tokenizer / "tokenizer.json").write_text('{"other": 1}'),
    "cut": lambda place: place.kept()[0].write_bytes(place.kept()[0].read_bytes()[:-4]),
    "empty": lambda place: place.kept()[0].write_bytes(b""),
    "foreign": lambda place: np.save(place.kept()[0], np.zeros((3, 5))),
    "pickled": lambda place: np.save(place.kept()[0], np.array([{"not": "numbers"}]), allow_pickle=True),
    "a bit of its header": lambda place: replaced(place.kept()[0], b"(2, 41)", b"\x082, 41)"),
    "a bit of its size": lambda place: replaced(place.kept()[0], b"(2, 41)", b"(2, 40)"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_or_was_damaged_is_indexed_again(place: Place, change: str) -> None:
    assert place.holds(TEXT)
    CHANGES[change](place)
    place.read.clear()
    now = (place.folder / ("other.md" if change == "another name" else "notes.md")).read_text()
    assert place.holds(now) and place.read
    folders = {file.parent for file in place.kept()}
    assert len(place.kept()) == len(folders) == (2 if change == "another tokenizer" else 1)


def test_no_index_keeps_texts_that_were_all_deleted(place: Place) -> None:
    assert place.holds(TEXT) and place.kept()
    (place.folder / "notes.md").unlink()
    with pytest.raises(BadChoice, match="holds no text"):
        place.holds(TEXT)
    assert not place.kept()


def test_an_edit_leaves_a_store_in_use_as_it_is(place: Place) -> None:
    store, _ = open_store(place.folder, place.tokenizer, place.encode)
    CHANGES["an edit"](place)
    assert place.holds((place.folder / "notes.md").read_text())
    _, found = store.longest_match(list(b"the targ"))
    assert bytes(store.following(found, 30)).startswith(b"et checks")


def test_hidden_binary_other_and_huge_files_are_left_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_folder, "LARGEST_FILE", 1000)
    place.write(".hidden.md", "hidden")
    place.write(".git/config", "hidden too")
    place.write("picture.png", b"\x89PNG\0\0")
    place.write("late.bin", b"text " * 100 + b"\0")
    place.write("latin.txt", "Größe".encode("latin-1"))
    place.write("huge.csv", "1,2," * 1000)
    place.write("nothing.txt", "")
    (place.folder / "nowhere").symlink_to("/no/such/file")
    place.write("marked.txt", "\ufeffwith a mark")
    assert place.holds(TEXT) and place.read == ["with a mark", TEXT]


def test_one_file_may_be_named(place: Place) -> None:
    place.write("other.md", "another text")
    store, _ = open_store(place.folder / "notes.md", place.tokenizer, place.encode)
    assert bytes(rest(store, TEXT)) == TEXT.encode()[len(TEXT) // 2 :] and place.read == [TEXT]


def test_a_file_that_cannot_be_read_is_left_out_and_named_until_it_can(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = place.write("secret.txt", "not for you")

    def refuse(file: documents_folder.Listed) -> str:
        if file.path == str(secret):
            raise PermissionError(errno.EACCES, "Permission denied", file.path)
        return Path(file.path).read_text()

    with monkeypatch.context() as locked:
        locked.setattr(documents_folder, "_text", refuse)
        locked.setattr(os, "access", lambda path, mode: path != str(secret))
        _, notes = open_store(place.folder, place.tokenizer, place.encode)
    assert notes == [f"1 of the documents cannot be read, such as {secret} (Permission denied)."]
    assert place.read == [TEXT]
    assert place.holds("not for you"), "once it can be read it is, though nothing else of it changed"


def test_a_folder_inside_that_cannot_be_read_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, honest = place.write("inside/secret.txt", "not for you").parent, os.scandir

    def refuse(folder: str) -> object:
        if folder == str(inside):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return honest(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    _, notes = open_store(place.folder, place.tokenizer, place.encode)
    assert len(notes) == 1 and notes[0].startswith(f"1 of the documents cannot be read, such as {inside} (")
    assert place.read == [TEXT]


def test_a_place_that_is_not_there_is_refused_when_it_is_named(place: Place) -> None:
    assert named_documents(str(place.folder)) == str(place.folder)
    with pytest.raises(BadSource, match="There are no documents /no/such. Name a folder of texts"):
        named_documents("/no/such")


def test_nothing_too_much_and_a_folder_that_is_gone_are_said(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(kind: type[Exception], words: str) -> None:
        with pytest.raises(kind, match=words):
            open_store(place.folder, place.tokenizer, place.encode)

    monkeypatch.setattr(documents_folder, "LARGEST_FOLDER", 10)
    refused(BadChoice, "more than 10 B of text, too much. Name folders inside it")
    monkeypatch.setattr(documents_folder, "MOST_FILES", 0)
    refused(BadChoice, "holds more than 0 files")
    monkeypatch.undo()
    place.write("notes.md", "  \n")
    refused(BadChoice, "texts holds no text. Name a UTF-8 text, or a folder of them.")
    (place.folder / "notes.md").unlink()
    monkeypatch.setattr(documents_folder, "LARGEST_FILE", 1000)
    large = place.write("large.txt", "word " * 1000)
    refused(BadChoice, f"1 of the documents cannot be read, such as {large} .larger than 1.0 kB.")
    large.unlink()
    place.folder.rmdir()
    refused(MachineTrouble, "cannot be read: No such file or directory")


def test_what_is_wrong_with_one_place_costs_only_its_drafts(place: Place, home: Path) -> None:
    stores, notes = open_stores([str(home / "gone"), str(place.folder)], place.tokenizer, place.encode)
    assert len(stores) == 1 and len(notes) == 1 and "gone cannot be read" in notes[0]


@pytest.mark.parametrize("full", ["disk", "disk, as NumPy says it", "folder"])
def test_an_index_that_cannot_be_kept_is_used_all_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    def is_full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def is_cut_off(*_: object) -> None:
        raise OSError("248932 requested and 20480 written")

    if full == "disk":
        monkeypatch.setattr(os, "fsync", is_full)
    elif full == "disk, as NumPy says it":
        monkeypatch.setattr(np, "save", is_cut_off)
    else:
        data_folder().mkdir(parents=True)
        (data_folder() / "documents").write_text("a file in its place")
    store, notes = open_store(place.folder, place.tokenizer, place.encode)
    assert bytes(rest(store, TEXT)) == TEXT.encode()[len(TEXT) // 2 :]
    assert len(notes) == 1 and "is not kept in" in notes[0] and "None" not in notes[0]
    assert not list(data_folder().rglob("*.npy*")) and not list(data_folder().rglob(".*"))


def test_an_interrupted_indexing_leaves_nothing(place: Place) -> None:
    def interrupted(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_store(place.folder, place.tokenizer, interrupted)
    assert not place.kept() and place.holds(TEXT)


def test_of_two_that_open_it_at_once_one_indexes_and_both_can_draft(place: Place) -> None:
    """A lock belongs to an open file, so it works between threads as between processes."""
    for name in range(200):
        place.write(f"{name}.txt", f"document {name:03} | which is short")
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(place.holds, ["document 077 | which is short"] * 4))
    assert len(place.read) == 201 and len(place.kept()) == 1
