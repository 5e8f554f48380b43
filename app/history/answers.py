"""The saved answers as texts to draft from: a folder of our own, a file for each chat as it is now."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from app.history.database import history_file
from app.history.store import History
from app.shell.errors import MachineFailed
from app.shell.output import talk
from models.files import atomic_write
from models.paths import data_folder


def answers_folder() -> Path | None:
    """The folder, up to date; None where no answer was saved yet."""
    if not history_file().exists():
        return None
    history = History(history_file())
    try:
        if history.set_aside is not None:
            talk(f"The chat history was damaged. It is kept as {history.set_aside}, and a new one began.")
        answers = history.answers()
    finally:
        history.close()
    # An id may come from an imported file; it is no file's name.
    texts = {f"{sha256(chat.encode()).hexdigest()[:16]}.txt": text for chat, text in answers.items()}
    folder = data_folder() / "answers"
    try:
        _write(folder, texts)
    except OSError as error:
        raise MachineFailed(
            f"The saved answers cannot be written to {folder}: {error.strerror}. "
            "Leave `chats` out of the documents."
        ) from error
    return folder if texts else None


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """What has not changed keeps its time, or it would be indexed again."""
    if folder.exists():
        for file in folder.iterdir():
            if file.name not in texts:
                file.unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != text.encode():
            atomic_write(file, text)
