"""One commit of a repository in the Hub's cache: what of it is here, what is damaged, making it known."""

from pathlib import Path

from models.errors import BrokenFiles
from models.hub.repository import HubFile, Repository
from models.pairs.folder import BrokenFile, check_folder, check_json_file, check_safetensors
from models.pairs.installed import repository_folder


def snapshot_folder(repository: Repository) -> Path:
    """Where the Hub's cache has the files of this commit."""
    return repository_folder(repository.source.repo) / "snapshots" / repository.commit


def name_in_cache(repository: Repository) -> None:
    """Let the cache's branch point here: `hf cache prune` deletes commits that no branch names.

    Done before anything is fetched, so that a pull that was cut off is found, to be finished or removed.
    """
    source = repository.source
    if not source.is_pinned:
        ref = repository_folder(source.repo) / "refs" / source.asked_revision
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(repository.commit)


def is_here(repository: Repository, file: HubFile) -> bool:
    """Whether the file is here at its full size."""
    path = snapshot_folder(repository) / file.name
    return path.is_file() and path.stat().st_size == file.size


def discard_damaged(repository: Repository) -> None:
    """Delete what is here but wrong, so that it is fetched again."""
    for file in repository.files:
        path = snapshot_folder(repository) / file.name
        if path.is_symlink() or path.is_file():
            if not is_here(repository, file) or not _is_readable(path, file):
                discard(path)


def discard(path: Path) -> None:
    """Delete a file of a snapshot, the blob behind it, and what links to it in the other snapshots.

    The Hub's library treats a repository with a link to nothing as corrupt.
    """
    blob = path.resolve()
    for link in path.parents[1].rglob("*"):
        if link.is_symlink() and link.resolve() == blob:
            link.unlink()
    blob.unlink(missing_ok=True)


def finish(repository: Repository) -> None:
    """Check a fetched model.

    Raises:
        BrokenFiles: a file arrived damaged (it is deleted), or one is missing.
    """
    folder, source = snapshot_folder(repository), repository.source
    try:
        check_folder(folder)
    except BrokenFile as error:
        discard(error.path)
        raise BrokenFiles(
            f"{error.path.name} of {source} arrived damaged and was deleted. Pull again."
        ) from error
    except BrokenFiles as error:
        raise BrokenFiles(f"The repository {source} is not whole: {error} Choose another.") from error


def _is_readable(path: Path, file: HubFile) -> bool:
    try:
        if file.is_weights:
            check_safetensors(path)
        elif path.suffix == ".json":
            check_json_file(path)
    except BrokenFile:
        return False
    return True
