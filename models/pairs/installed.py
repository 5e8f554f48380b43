"""What of a pair is on this machine: folders, GGUF files, snapshots in the Hub's cache. Asks no network."""

import os
from pathlib import Path

from models.errors import ModelsError, NotInstalled
from models.pairs.catalogue import BUILTIN_PAIR, REAL_PAIR, Pair, all_pairs, find, package_of
from models.pairs.folder import check_folder, is_whole
from models.pairs.pair import PairSpec, Source
from models.paths import hub_cache


def installed(spec: PairSpec) -> bool:
    """Whether every model of the pair is here and whole."""
    return all(is_installed(source) for source in spec.sources)


def is_installed(source: Source) -> bool:
    """Whether the model is here and whole (headers and sizes are read, not the weights)."""
    folder = find_folder(source)
    return folder is not None and is_whole(folder)


def default_pair() -> Pair:
    """The real pair once it is here, until then the built-in one."""
    real = find(REAL_PAIR)
    return real if installed(real.spec) else find(BUILTIN_PAIR)


def installed_folder(source: Source, spec: PairSpec) -> Path:
    """The folder to load this model of the pair from; NotInstalled has the command that pulls the pair."""
    folder = find_folder(source)
    if folder is None:
        if source.is_local and not package_of(source):
            raise NotInstalled(f"{source} is not there; the pair {spec.name} needs it.")
        raise NotInstalled(f"{source} is not on this machine. Get it with: {pull_command(spec)}")
    try:
        check_folder(folder)
    except ModelsError as error:
        if source.is_local:
            raise
        raise NotInstalled(
            f"{source} is not whole here: {error} Fix it with: {pull_command(spec)}"
        ) from error
    return folder


def find_folder(source: Source) -> Path | None:
    """Where the model's files are, whole or not; None where there are none, or none that may be seen."""
    folder = Path(source.repo)
    if not source.is_local:
        repository, commit = repository_folder(source.repo), source.asked_revision
        if not source.is_pinned:
            try:
                commit = (repository / "refs" / commit).read_text().strip()
            except OSError:
                return None
        folder = repository / "snapshots" / commit
    return folder if os.path.isdir(folder) or (source.is_local and os.path.isfile(folder)) else None


def repository_folder(repo: str) -> Path:
    """A repository's folder in the Hub's cache, there or not."""
    return hub_cache() / f"models--{repo.replace('/', '--')}"


def pull_command(spec: PairSpec) -> str:
    if any(pair.spec == spec for pair in all_pairs()):
        return f"mlx-spec pull {spec.name}"
    return f"mlx-spec pull --target {spec.target} --draft {spec.draft or 'none'}"
