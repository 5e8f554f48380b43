"""Files named by the user: expand the path, check the place before the work, write."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from app.shell.errors import BadInput, MachineFailed
from app.shell.printable import one_line
from models.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def written_out(path: str | Path) -> Path:
    """The path with a leading `~` or `~name` expanded; an unknown `~name` stays as it is."""
    return Path(os.path.expanduser(path))


def plain_file(path: str) -> Path:
    """Like `written_out`; refuses a pipe or a device, on which a screen could block forever."""
    file = written_out(path)
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        raise BadInput(f"{one_line(path)} is no plain file, so it cannot be used here.")
    return file


def check_place(option: str, file: Path) -> None:
    """Refuse, before any work, a file that cannot be written, and `-`, which elsewhere is stdout."""
    if str(file) == "-":
        raise BadInput(f"{option} is -, which does not mean stdout here. Name a file.")
    old, place = os.path.exists(file), Path(os.path.realpath(file))
    for folder in (file.absolute().parent, place.parent):  # that of the link, and of what it points to
        if not os.path.isdir(folder):
            raise BadInput(f"{option} {file}: there is no folder {folder}.")
    if os.path.isdir(file):
        raise BadInput(f"{option} {file}: that is a folder. Name a file.")
    new = not old or place.is_file()  # a device is not replaced
    if (old and not os.access(place, os.W_OK)) or (new and not os.access(place.parent, os.W_OK)):
        raise BadInput(f"{option} {file}: no permission to write there. Name another place.")


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """An OSError inside becomes a MachineFailed that names the file."""
    try:
        yield
    except OSError as error:
        why = _why_no_place(file) if isinstance(error, FileNotFoundError) else error.strerror
        raise MachineFailed(f"{file} cannot be written: {why}.") from error


def _why_no_place(file: Path) -> str:
    try:
        folder = file.absolute().parent
    except FileNotFoundError:
        return "the current folder was removed"
    return f"{folder} takes no files" if os.path.isdir(folder) else f"there is no folder {folder}"


def write_text(file: Path, text: str) -> None:
    """As `write_bytes`."""
    write_bytes(file, text.encode())


def write_bytes(file: Path, content: bytes) -> None:
    """Write all or nothing: an error leaves an old file as it was, and no new one. Links are followed."""
    with writing(file):
        place = Path(os.path.realpath(file))  # a loop of links is no error here, but of the writing
        if place.is_file():
            with replacing(place, place.stat().st_mode & 0o777) as out:
                out.write(content)
            return
        new = not place.exists()
        try:
            place.write_bytes(content)
        except BaseException:  # Ctrl+C too
            if new:
                place.unlink(missing_ok=True)
            raise


def free_place(folder: Path, name: str, *suffixes: str) -> Path:
    """A path without suffix, numbered if necessary, for which no file with any of the suffixes exists."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    places = (folder / each for each in names)
    return next(place for place in places if not any(Path(f"{place}{end}").exists() for end in suffixes))


def write_picture(figure: "Figure", file: Path) -> None:
    picture = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in a script that the font lacks
        figure.savefig(picture, dpi=160, format=file.suffix[1:].lower())
    write_bytes(file, picture.getvalue())
