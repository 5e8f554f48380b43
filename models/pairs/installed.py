"""What is installed of a pair: folders, GGUF files, snapshots in the Hub's cache. Uses no network."""

import os
from contextlib import suppress
from pathlib import Path
from shlex import quote

from models.errors import BrokenFiles, ModelsError, NotInstalled
from models.pairs.catalogue import BUILTIN_PAIR, REAL_PAIR, Pair, all_pairs, find, package_of
from models.pairs.config_json import check_settings
from models.pairs.drafter_kinds import MODEL, TOKENIZER_FILES
from models.pairs.folder import WEIGHTS, check_folder, folder_kind, read_config
from models.pairs.original_mtp import MTP, is_original, taken_from
from models.pairs.pair import PairSpec, Source
from models.paths import hub_cache


def installed(spec: PairSpec) -> bool:
    """Whether every model of the pair is installed and whole."""
    if taken_mtp(spec):
        return is_installed(spec.target)
    return all(is_installed(source) for source in spec.sources) and not _wants_mtp(spec)


def is_installed(source: Source) -> bool:
    """Whether the model is installed and whole (checks headers and sizes, not the weights)."""
    return installed_bytes(source) is not None


def installed_bytes(source: Source) -> int | None:
    """Bytes of the model's weights on disk; None if it is not installed or not whole."""
    with suppress(ModelsError):
        return check_folder(folder) if (folder := find_folder(source)) else None
    return None


def default_pair() -> Pair:
    """The real pair once it is installed, until then the built-in one."""
    real = find(REAL_PAIR)
    return real if installed(real.spec) else find(BUILTIN_PAIR)


def installed_folder(source: Source, spec: PairSpec) -> Path:
    """The folder to load this model of the pair from; NotInstalled names the command that pulls the pair."""
    if source == spec.draft != spec.target and (taken := taken_mtp(spec)):
        return taken
    if source == spec.draft and _wants_mtp(spec):
        raise NotInstalled(
            f"{source} is the target's original, of which only the layers for more tokens draft, and they "
            f"are not taken out yet. Do that with: {pull_command(spec)}"
        )
    folder = find_folder(source)
    if folder is None:
        if source.is_local and not package_of(source):
            raise NotInstalled(f"{source} is not there; the pair {spec.name} needs it.")
        raise NotInstalled(f"{source} is not on this machine. Get it with: {pull_command(spec)}")
    try:
        check_folder(folder)
    except ModelsError as error:
        if source.is_local and isinstance(error, BrokenFiles):
            raise BrokenFiles(f"{error} Download it again.", error.path) from error
        if source.is_local:
            raise
        # Refused by name: another pull would bring the same.
        if not isinstance(error, BrokenFiles) and (config := read_config(folder)):
            check_settings(config, str(source), TOKENIZER_FILES)
        come = any(file for name in WEIGHTS for file in folder.glob(name))
        why = error if come else "its weights are missing."  # a pull was stopped, or still runs
        raise NotInstalled(f"{source} is incomplete here: {why} Fix it with: {pull_command(spec)}") from error
    return folder


def find_folder(source: Source) -> Path | None:
    """The folder or file of the model, whole or not; None if it is missing or may not be seen."""
    folder = Path(source.repo)
    if not source.is_local:
        repository, commit = repository_folder(source.repo), source.asked_revision
        if not source.is_pinned:
            try:
                commit = (repository / "refs" / commit).read_text().strip()
            except (OSError, ValueError):  # damaged
                return None
            if not commit:  # its writing was cut off
                return None
        folder = repository / "snapshots" / commit
    return folder if os.path.isdir(folder) or (source.is_local and os.path.isfile(folder)) else None


def taken_mtp(spec: PairSpec) -> Path | None:
    """The folder of MTP layers extracted from the draft, if that is the target's original repository."""
    return taken_from(spec.target, spec.draft) if spec.draft not in (None, spec.target) else None


def draft_kind(spec: PairSpec) -> str:
    """The kind of the pair's draft, by its small files; `model` if they are not here or damaged."""
    with suppress(ModelsError):
        folder = taken_mtp(spec) or (spec.draft and find_folder(spec.draft))
        return MTP if _wants_mtp(spec) else folder_kind(folder) if folder else MODEL
    return MODEL


def _wants_mtp(spec: PairSpec) -> bool:
    """Whether the draft is the target's original repository, of which only the MTP layers are needed."""
    if spec.draft in (None, spec.target):
        return False
    draft, target = find_folder(spec.draft), find_folder(spec.target)
    return draft is not None and target is not None and is_original(draft, target)


def repository_folder(repo: str) -> Path:
    """A repository's folder in the Hub's cache; it may not exist."""
    return hub_cache() / f"models--{repo.replace('/', '--')}"


def pull_command(spec: PairSpec) -> str:
    if any(pair.spec == spec for pair in all_pairs()):
        return f"mlx-spec pull {spec.name}"
    return f"mlx-spec pull --target {quote(str(spec.target))} --draft {quote(str(spec.draft or 'none'))}"
