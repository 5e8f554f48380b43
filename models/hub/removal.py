"""Deleting a pulled pair from the Hub's cache, and saying beforehand what that frees."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from huggingface_hub import scan_cache_dir
from huggingface_hub.utils import DeleteCacheStrategy, HFCacheInfo

from models.errors import MachineTrouble, NotInstalled
from models.hub.incomplete import partial_files, sweep
from models.pairs.catalogue import DEFAULT_PAIR, all_pairs, find
from models.pairs.installed import find_folder, installed, repository_folder
from models.pairs.pair import PairSpec, Source
from models.paths import hub_cache


@dataclass(frozen=True, slots=True)
class Kept:
    """A model of the pair that stays, and why."""

    source: Source
    why: str


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing a pair deletes, keeps and frees."""

    deleted: tuple[Source, ...]
    kept: tuple[Kept, ...]
    freed_bytes: int


def plan_removal(spec: PairSpec) -> Removal:
    """What `remove` would do. Models of other installed pairs of the catalogue, and local folders, stay.

    Raises:
        NotInstalled: nothing of the pair is in the Hub's cache.
    """
    deleted, kept = _sort(spec)
    parts = sum(file.stat().st_size for file in _partial_files(deleted))
    return Removal(deleted, kept, parts + (_freed(deleted) if deleted else 0))


def removable_bytes(spec: PairSpec) -> int:
    """What `remove` would free; 0 where nothing of the pair is in the Hub's cache."""
    try:
        return plan_removal(spec).freed_bytes
    except NotInstalled:
        return 0


def remove(spec: PairSpec) -> Removal:
    """Delete the pair's models from the Hub's cache. Ask the user before.

    Raises:
        NotInstalled: nothing of the pair is in the Hub's cache.
        MachineTrouble: a model could not be deleted.
    """
    for source in _sort(spec)[0]:
        _drop_dangling(repository_folder(source.repo))
    plan = plan_removal(spec)
    folders = [_folder(source) for source in plan.deleted]
    sweep(_partial_files(plan.deleted))
    for strategy in _strategies(_scan(), folders) if folders else ():
        strategy.execute()
    for source, folder in zip(plan.deleted, folders, strict=True):
        if folder.is_dir():
            raise MachineTrouble(f"{source} could not be deleted. Delete {repository_folder(source.repo)}.")
    return plan


def _drop_dangling(repository: Path) -> None:
    """Drop links and branches that lead nowhere: the Hub's library skips a repository that has one."""
    snapshots = repository / "snapshots"
    for link in snapshots.rglob("*"):
        if link.is_symlink() and not link.exists():
            link.unlink()
    for branch in (repository / "refs").rglob("*"):
        if branch.is_file() and not (snapshots / branch.read_text()).is_dir():
            branch.unlink()


def _partial_files(sources: tuple[Source, ...]) -> frozenset[Path]:
    """What cancelled pulls left of these."""
    return partial_files(source.repo for source in sources)


def _sort(spec: PairSpec) -> tuple[tuple[Source, ...], tuple[Kept, ...]]:
    deleted: list[Source] = []
    kept: list[Kept] = []
    for source in spec.sources:
        if find_folder(source) is None:
            continue
        if why := _reason_to_keep(source, spec):
            kept.append(Kept(source, why))
        else:
            deleted.append(source)
    if not deleted and not kept:
        raise NotInstalled(f"Nothing of {spec.name} is on this machine; there is nothing to remove.")
    return tuple(deleted), tuple(kept)


def _reason_to_keep(source: Source, spec: PairSpec) -> str | None:
    if source.is_folder:
        return "part of the program" if _is_builtin(source) else "a folder of yours"
    users = [p.name for p in all_pairs() if p.spec != spec and source in p.spec.sources and installed(p.spec)]
    return f"used by {', '.join(users)}" if users else None


def _is_builtin(source: Source) -> bool:
    return source in find(DEFAULT_PAIR).spec.sources


def _freed(sources: tuple[Source, ...]) -> int:
    """Bytes; a model in a damaged repository, which the scan skips, counts with all its files."""
    cache, folders = _scan(), [_folder(source) for source in sources]
    scanned = {revision.snapshot_path for repo in cache.repos for revision in repo.revisions}
    skipped = [file for folder in folders if folder.resolve() not in scanned for file in folder.rglob("*")]
    strategies = _strategies(cache, folders)
    return sum(s.expected_freed_size for s in strategies) + sum(
        f.stat().st_size for f in skipped if f.is_file()
    )


def _strategies(cache: HFCacheInfo, folders: list[Path]) -> Iterator[DeleteCacheStrategy]:
    """How to delete these, one repository at a time: two may have a commit in common."""
    for repo in cache.repos:
        if commits := [f.name for f in folders if f.resolve().is_relative_to(repo.repo_path)]:
            yield replace(cache, repos=frozenset({repo})).delete_revisions(*commits)


def _scan() -> HFCacheInfo:
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return scan_cache_dir(hub_cache())


def _folder(source: Source) -> Path:
    """The snapshot of a model that is in the cache."""
    folder = find_folder(source)
    assert folder is not None, "only what was found is deleted"
    return folder
