"""What of a Hub repository is needed: its commit, and which files of its tree are fetched.

Only root-level json, jinja, tokenizer and safetensors files, which is what mlx-lm reads. No Python code,
no other weight formats, no folders.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch

from huggingface_hub import HfApi, RepoFile

from models.errors import UnsupportedFormat
from models.pairs.folder import TOKENIZER_FILES
from models.pairs.pair import Source

SMALL = ("*.json", "*.jinja", "*.txt", "*.tiktoken", "tokenizer.model")
WEIGHTS = "model*.safetensors"


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository and its size in bytes."""

    name: str
    size: int
    blob: str
    """What the Hub's cache names the content by: its SHA-256 where the file is large, else Git's name."""

    @property
    def is_weights(self) -> bool:
        return fnmatch(self.name, WEIGHTS)


@dataclass(frozen=True, slots=True)
class Repository:
    """One source at one commit, with the files that are needed of it."""

    source: Source
    commit: str
    files: tuple[HubFile, ...]


def ask_hub(source: Source) -> Repository:
    """Resolve the revision and read the tree: two requests.

    Raises:
        UnsupportedFormat: the repository holds no safetensors model.
    """
    api = HfApi()
    info = api.model_info(source.repo, revision=source.asked_revision)
    commit = info.sha or source.asked_revision
    tree = api.list_repo_tree(source.repo, revision=commit, recursive=False)
    return Repository(source, commit, needed_files(source, [f for f in tree if isinstance(f, RepoFile)]))


def needed_files(source: Source, tree: Iterable[RepoFile]) -> tuple[HubFile, ...]:
    """The files to fetch, small ones first.

    Raises:
        UnsupportedFormat: config.json, a tokenizer or safetensors weights are missing.
    """
    files = [HubFile(file.path, file.size, _blob(file)) for file in tree if _is_plain(file.path)]
    names = {file.name for file in files}
    weights = [file for file in files if file.is_weights]
    small = [file for file in files if any(fnmatch(file.name, pattern) for pattern in SMALL)]
    if not weights:
        others = sorted(
            n for n in names if n.endswith((".gguf", ".bin", ".pth", ".pt", ".safetensors", ".onnx"))
        )
        found = f" (it has {others[0]})" if others else ""
        raise UnsupportedFormat(
            f"{source} holds no model*.safetensors{found}; only safetensors weights are loaded. "
            "Look for a conversion of it by mlx-community."
        )
    if "config.json" not in names or not names.intersection(TOKENIZER_FILES):
        missing = "tokenizer.json" if "config.json" in names else "config.json"
        raise UnsupportedFormat(f"{source} holds no {missing}; mlx-lm cannot load it.")
    return (*small, *weights)


def _blob(file: RepoFile) -> str:
    return file.lfs.sha256 if file.lfs else file.blob_id


def _is_plain(path: str) -> bool:
    """At the root, and a name that may be shown."""
    return "/" not in path and path.isprintable()
