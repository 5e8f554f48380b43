"""The saved answers as documents to draft from: one text file per chat, in a folder of the program."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from app.history.database import history_file
from app.history.store import opened_history
from app.shell.errors import AppError
from app.shell.output import talk
from models.files import atomic_write, locked
from models.paths import data_folder


def answers_folder() -> Path | None:
    """Bring the folder up to date and return it; None if no answer was saved yet.

    An error is only reported, since it costs nothing but drafts: the folder is then used as it is.
    """
    if not history_file().exists():
        return None
    folder = data_folder() / "answers"
    try:
        with opened_history(to_read=True) as history:
            answers = history.answers()
        # Hashes, as an imported chat's id may be no valid file name.
        texts = {f"{sha256(k.encode()).hexdigest()[:16]}.txt": text for k, text in answers.items()}
        with locked(data_folder()):  # another program would remove what is half written
            _write(folder, texts)
    except (AppError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).removesuffix(".")
        talk(f"The saved answers to draft from cannot be brought up to date in {folder}: {reason}.")
    return folder if folder.is_dir() else None


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write changed files only: a new modification time has a file indexed again."""
    if folder.exists():
        for file in folder.iterdir():
            if file.name not in texts:
                file.unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != text.encode():
            atomic_write(file, text)
