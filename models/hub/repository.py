"""One commit of a Hub repository: which of its files are needed, and which are in the Hub's cache.

Needed are root-level json, jinja, tokenizer and safetensors files, which mlx-lm reads. No Python code, no
other weight formats, no folders.
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import HfApi, RepoFile
from huggingface_hub.errors import FileMetadataError

from models.errors import BadChoice, BrokenFiles
from models.files import atomic_write
from models.hub.client import ask_again
from models.hub.incomplete import partial_file
from models.pairs.drafter_kinds import LAYER_SKIP, check_kind, config_kind
from models.pairs.folder import (
    ADAPTER,
    WEIGHTS,
    check_json_file,
    check_safetensors,
    holds,
    is_checksum,
    read_config,
)
from models.pairs.installed import repository_folder
from models.pairs.pair import Source

_SMALL = ("*.json", "*.jinja", "*.txt", "*.tiktoken", "tokenizer.model")
_OTHER_FORMATS = (".gguf", ".bin", ".pth", ".pt", ".safetensors", ".onnx")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository; `blob` is its checksum, the name of its content in the Hub's cache."""

    name: str
    size: int
    blob: str

    @property
    def is_weights(self) -> bool:
        return any(fnmatch(self.name, name) for name in WEIGHTS)


@dataclass(frozen=True, slots=True)
class Repository:
    source: Source
    commit: str
    files: tuple[HubFile, ...]

    @property
    def folder(self) -> Path:
        return repository_folder(self.source.repo) / "snapshots" / self.commit

    def blob(self, file: HubFile) -> Path:
        return repository_folder(self.source.repo) / "blobs" / file.blob

    def is_here(self, file: HubFile) -> bool:
        """Whether the file is in the cache at its full size."""
        return _size(self.folder / file.name) == file.size

    def bytes_here(self) -> int:
        """Bytes in the cache, partial files included."""
        total = 0
        for file in self.files:
            # In the order in which a file is moved, so that a move meanwhile is not missed.
            places = (partial_file(self.source.repo, file.blob), self.blob(file), self.folder / file.name)
            total += min(max(map(_size, places)), file.size)
        return total

    def name_in_cache(self) -> None:
        """Point the cache's branch at this commit: `hf cache prune` deletes commits without one, and an
        interrupted pull is found by it.
        """
        if not self.source.is_pinned:
            ref = repository_folder(self.source.repo) / "refs" / self.source.asked_revision
            ref.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(ref, self.commit, 0o644)

    def discard_damaged(self) -> None:
        """Delete damaged files in the cache, so that they are fetched again."""
        for file in self.files:
            path = self.folder / file.name
            if not self.is_here(file) or not _is_readable(path, file):
                _discard(path)

    def check_small(self) -> None:
        """Raise BadChoice if weights or a tokenizer are missing, or its kind of drafter is unknown. Needs
        its config.json in the cache."""
        config = read_config(self.folder)
        if config_kind(config) != LAYER_SKIP and not any(file.is_weights for file in self.files):
            raise _no_weights(self.source)
        check_kind(config, str(self.source), [file.name for file in self.files])

    def discard_unlike(self) -> bool:
        """Delete the small files in the cache that are not the Hub's; returns whether there were any, or any
        is missing, as after a removal meanwhile."""
        paths = [(self.folder / file.name, file.blob) for file in self.files if not file.is_weights]
        unlike = [path for path, blob in paths if not path.is_file() or not holds(path, blob)]
        for path in unlike:
            _discard(path)
        return bool(unlike)

    def only(self, weights: Container[str]) -> "Repository":
        """The repository reduced to these weight files; its small files stay."""
        return replace(self, files=tuple(f for f in self.files if not f.is_weights or f.name in weights))

    def discard_weights(self) -> None:
        """Delete its weight files from the cache."""
        for file in self.files:
            if file.is_weights:
                _discard(self.folder / file.name)

    def finish(self, check: Callable[[Path], object]) -> None:
        """Raise BrokenFiles if a file is missing or arrived damaged; a damaged file is deleted."""
        try:
            check(self.folder)
        except BrokenFiles as error:
            if error.path is None:
                raise BrokenFiles(f"{self.source} is incomplete: {error} Choose another.") from error
            name, blob = f"{error.path.name} of {self.source}", error.path.resolve()
            why, then = "arrived damaged", "Pull again"
            if holds(blob, blob.name):
                why, then = "is damaged on the Hub itself", "Choose another"
            _discard(error.path)
            raise BrokenFiles(f"{name} {why} and was deleted. {then}.") from error


def ask_hub(source: Source) -> Repository:
    """Resolve the revision and list the files: two requests.

    Raises BadChoice if the repository has other weights than safetensors, or no config.json, and
    FileMetadataError if it has no commit.
    """
    api = HfApi()
    commit = ask_again(lambda: api.model_info(source.repo, revision=source.asked_revision)).sha or ""
    if not is_checksum(commit):  # it names a folder of the cache
        raise FileMetadataError(f"{source} has no commit")
    tree = api.list_repo_tree(source.repo, revision=commit, recursive=False)
    return Repository(source, commit, _needed_files(source, [f for f in tree if isinstance(f, RepoFile)]))


def _needed_files(source: Source, tree: Iterable[RepoFile]) -> tuple[HubFile, ...]:
    """The files to fetch, small ones first; empty ones and those with unprintable names are ignored."""
    plain = [file for file in tree if "/" not in file.path and file.path.isprintable() and file.size]
    files = [HubFile(f.path, f.size, f.lfs.sha256 if f.lfs else f.blob_id) for f in plain]
    names = {file.name for file in files}
    weights = [file for file in files if file.is_weights]
    others = sorted(name for name in names if name.endswith(_OTHER_FORMATS))
    if not weights and (others or "config.json" not in names):
        if ADAPTER in names:
            raise BadChoice(f"{source} is an adapter, not a whole model. Choose a model with it merged in.")
        raise _no_weights(source, *others)
    if "config.json" not in names:
        raise BadChoice(f"{source} holds no config.json; mlx-lm cannot load it. Choose another.")
    return (*(file for file in files if any(fnmatch(file.name, p) for p in _SMALL)), *weights)


def _no_weights(source: Source, *others: str) -> BadChoice:
    found = f" (it has {others[0]})" if others else ""
    one = next((file for file in others if file.endswith(".gguf")), None)
    by_hand = f", or download {one} yourself and name the file with --target" if one else ""
    return BadChoice(
        f"{source} holds no model*.safetensors{found}; only safetensors weights are fetched. "
        f"Look for a conversion of it by mlx-community{by_hand}."
    )


def _discard(path: Path) -> None:
    """Delete a file of a snapshot, if it is there, its blob, and all links to that blob in other snapshots.
    Files outside the repository stay: a person's own, or what the Hub's library shares among repositories.

    The Hub's library treats a repository with a broken link as corrupt.
    """
    content, repository = path.resolve(), path.parents[2]
    for link in repository.rglob("*"):
        if link.is_symlink() and link.resolve() == content:
            link.unlink()
    if content.is_relative_to(repository.resolve()):
        content.unlink(missing_ok=True)


def _is_readable(path: Path, file: HubFile) -> bool:
    try:
        if file.is_weights:
            check_safetensors(path)
        elif path.suffix == ".json":
            check_json_file(path)
    except BrokenFiles:
        return False
    return True


def _size(path: Path) -> int:
    """Bytes; 0 if there is no file."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
