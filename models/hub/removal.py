"""Deleting a pulled pair from the Hub's cache, and computing beforehand what that frees."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.errors import MachineTrouble, ModelsError, NotInstalled
from models.hub.incomplete import is_arriving, partial_files
from models.pairs.catalogue import BUILTIN_PAIR, all_pairs, find, package_of
from models.pairs.folder import WEIGHTS, check_folder
from models.pairs.installed import find_folder, installed, repository_folder, taken_mtp
from models.pairs.own_pairs import forget_own
from models.pairs.pair import PairSpec, Source
from models.paths import hub_cache


@dataclass(frozen=True, slots=True)
class Removal:
    deleted: tuple[Source, ...]
    kept: Mapping[Source, str]
    """The pair's other models, with the reason why each stays."""
    freed_bytes: int


def plan_removal(spec: PairSpec) -> Removal:
    """What `remove` would do. Models of other installed pairs of the catalogue, and local folders, stay.

    An own pair of which nothing is deleted still leaves the list; NotInstalled for any other.
    """
    here = [source for source in spec.sources if find_folder(source)]
    kept = {source: why for source in here if (why := _reason_to_keep(source, spec))}
    deleted = tuple(source for source in here if source not in kept)
    if not deleted and not _own_names(spec):
        if here:
            raise NotInstalled(f"Nothing of {spec.name} can be removed: {here[0]} is {kept[here[0]]}.")
        raise NotInstalled(f"Nothing of {spec.name} is on this machine; there is nothing to remove.")
    return Removal(deleted, kept, sum(map(_size, _files_of(spec, deleted))))


def removable_bytes(spec: PairSpec) -> int:
    """What `remove` would free; 0 for a pair that is not here, or is being deleted."""
    try:
        return plan_removal(spec).freed_bytes
    except (NotInstalled, OSError):
        return 0


def remove(spec: PairSpec) -> Removal:
    """Delete the pair's models from the Hub's cache, and an own pair from the list. Ask the user before.

    Raises NotInstalled as `plan_removal`, MachineTrouble if a model cannot be deleted, or is being pulled.
    """
    plan = plan_removal(spec)
    hub = [source for source in plan.deleted if not source.is_local]
    if arriving := next((source for source in hub if is_arriving(source.repo)), None):
        raise MachineTrouble(f"{arriving} is being downloaded. Stop that download first, then remove it.")
    folders = {folder: source for source in hub for folder in _snapshots(source)}
    layers = taken_mtp(spec) if spec.draft in plan.deleted else None
    try:
        # File contents first: after a crash the rest is still found, and removed the next time.
        for file in sorted(_files_of(spec, plan.deleted), key=Path.is_symlink):
            file.unlink(missing_ok=True)
        for folder, source in folders.items():
            _delete(repository_folder(source.repo), folder)
        if layers:
            shutil.rmtree(layers)
    except OSError as error:
        why = f"({error.strerror}): {error.filename}"
        raise MachineTrouble(f"{spec.name} could not be deleted {why}.") from error
    for name in _own_names(spec):
        forget_own(name)
    return plan


def _own_names(spec: PairSpec) -> list[str]:
    return [pair.name for pair in all_pairs() if pair.own and pair.spec.sources == spec.sources]


def _snapshots(source: Source) -> list[Path]:
    """A Hub model's snapshot, after those of interrupted pulls that no branch names, because the Hub had
    changed before the pull went on: they hold weights, but not all."""
    folder = find_folder(source)
    if folder is None:
        return []
    branches = [each for each in (folder.parents[1] / "refs").rglob("*") if each.is_file()]
    named = {folder.name.encode(), *(branch.read_bytes().strip() for branch in branches)}
    others = [each for each in folder.parent.iterdir() if each.name.encode() not in named]
    return [*filter(_is_partial, others), folder]


def _is_partial(snapshot: Path) -> bool:
    try:
        check_folder(snapshot)
    except ModelsError:
        return any(file for name in WEIGHTS for file in snapshot.glob(name))
    return False


def _delete(repository: Path, snapshot: Path) -> None:
    """Delete a snapshot and the branches that name it; with the last snapshot, the repository."""
    shutil.rmtree(snapshot)
    for branch in (repository / "refs").rglob("*"):
        if branch.is_file() and branch.read_bytes().strip() == snapshot.name.encode():
            branch.unlink()
    if not any(each.is_dir() for each in snapshot.parent.iterdir()):
        shutil.rmtree(repository.resolve())
        repository.unlink(missing_ok=True)  # a link, to another disk


def _files_of(spec: PairSpec, sources: Sequence[Source]) -> set[Path]:
    """The files that are deleted with these models of a pair."""
    packaged = {Path(source.repo) for source in sources if source.is_local}
    if spec.draft in sources and (layers := taken_mtp(spec)):
        packaged |= {*layers.iterdir()}
    return packaged | _files_only_of([source for source in sources if not source.is_local])


def _files_only_of(sources: Sequence[Source]) -> set[Path]:
    """Files of these Hub models that no other snapshot uses, and their partial files."""
    folders = [folder for source in sources for folder in _snapshots(source)]
    others = {other for folder in folders for other in folder.parent.iterdir()}.difference(folders)
    repositories = {folder.parents[1] for folder in folders}
    shared = (blob for blob in hub_cache().glob("*/blobs/*") if blob.parents[1] not in repositories)
    used = _contents(others) | {blob.resolve() for blob in shared}
    return _contents(folders) - used | {file for each in sources for file in partial_files(each.repo)}


def _contents(folders: Iterable[Path]) -> set[Path]:
    """The files that snapshots link to, and the links between them, in their repository and in the store that
    the Hub's library shares among repositories: files elsewhere are not ours."""
    found = set[Path]()
    for folder in folders:
        ours = folder.parents[1].resolve(), (hub_cache() / "blobs").resolve()
        files = [file for file in folder.rglob("*") if file.is_file()]
        contents = {each for file in files for each in (_linked(file), file.resolve())}
        found |= {each for each in contents if any(each.is_relative_to(place) for place in ours)}
    return found


def _linked(file: Path) -> Path:
    """What the file links to, which may be a link itself; the file if it is none."""
    place = file.parent.resolve()
    return Path(os.path.normpath(place / (file.readlink() if file.is_symlink() else file.name)))


def _size(file: Path) -> int:
    return 0 if file.is_symlink() else file.stat().st_size


def _reason_to_keep(source: Source, spec: PairSpec) -> str:
    """Empty if the model may be deleted."""
    if source.is_local and not package_of(source):
        return "part of the program" if source in find(BUILTIN_PAIR).spec.sources else "your own"
    folder = find_folder(source)  # two revisions may be one commit
    users = [
        pair.name
        for pair in all_pairs()
        if pair.spec != spec and folder in map(find_folder, pair.spec.sources) and installed(pair.spec)
    ]
    return f"used by {', '.join(users)}" if users else ""
