"""A pair: the sources of its target and its draft. Loads and downloads nothing."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.errors import BadSource

BITS = (2, 3, 4, 5, 6, 8, 16)
"""Allowed bits per weight of heads."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PAGE = re.compile(r"https?://(?:huggingface\.co|hf\.co)/([^/?#]+/[^/?#]+)(?:/tree/([^/?#]+))?/?")
_REPOSITORY = re.compile(r"\w([\w.-]*\w)?/\w([\w.-]*\w)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A model: a Hub repository (`org/name`) with a branch, tag or commit, or the absolute path of a folder
    or GGUF file."""

    repo: str
    revision: str | None = None

    @property
    def is_local(self) -> bool:
        return Path(self.repo).is_absolute()

    @property
    def short_name(self) -> str:
        """Without its organization or folder, and without .gguf."""
        return re.sub(r"\.gguf$", "", Path(self.repo).name, flags=re.IGNORECASE)

    @property
    def asked_revision(self) -> str:
        return self.revision or "main"

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, not a branch or tag."""
        return bool(_COMMIT.fullmatch(self.asked_revision))

    def __str__(self) -> str:
        return f"{self.repo}@{self.revision}" if self.revision else self.repo


@dataclass(frozen=True, slots=True)
class PairSpec:
    """A target and its draft, if any.

    The name is the catalogue's, else the target's. `draft_head`: how many of the most frequent tokens the
    draft chooses among; None: all. `drafters`: folders of further drafters (`folder.py`), one of a kind.
    `drafter_bits`: bits per weight for heads stored unquantized; 16 keeps them; None: as the target.
    """

    name: str
    target: Source
    draft: Source | None
    draft_head: int | None = None
    drafters: tuple[Source, ...] = ()
    drafter_bits: int | None = None
    documents: tuple[str, ...] = field(default=(), compare=False)
    """Absolute paths of folders and files to draft from; ignored when pairs are compared."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The different models of the pair, the target first: what is pulled and removed."""
        if self.draft is None or self.draft == self.target:
            return (self.target,)
        return (self.target, self.draft)

    def as_json(self) -> dict[str, Any]:
        """Name and sources for reports of measurements; of documents only their number."""
        draft, drafters = str(self.draft) if self.draft else None, [str(source) for source in self.drafters]
        more = {
            "draft_head": self.draft_head,
            "drafters": drafters,
            "drafter_bits": self.drafter_bits,
            "documents": len(self.documents),
        }
        given = {name: value for name, value in more.items() if value}
        return {"name": self.name, "target": str(self.target), "draft": draft, **given}


def check_bits(bits: int | None) -> int | None:
    """The bits, if `PairSpec.drafter_bits` allows them; else BadSource."""
    if bits is not None and bits not in BITS:
        raise BadSource(f"--drafter-bits is {bits}; give {', '.join(map(str, BITS[:-1]))} or {BITS[-1]}.")
    return bits


def read_source(text: str) -> Source:
    """Parse what the user typed: `org/name`, `org/name@revision`, the page of either, a folder or a GGUF
    file; else BadSource."""
    if page := _PAGE.fullmatch(text):
        text = "@".join(part for part in page.groups() if part not in (None, "main"))
    path = os.path.expanduser(text)
    if os.path.isdir(path) or (os.path.isfile(path) and path.lower().endswith(".gguf")):
        return local_source(text)
    if os.path.isfile(path):
        raise BadSource(f"{text} is a file; name a .gguf file, or the folder of config.json and weights.")
    if path.lower().endswith(".gguf"):
        raise BadSource(f"There is no file {text}. Name a GGUF file or a folder here, or a Hub repository.")
    if text.startswith(("/", ".", "~")) or text.partition("@")[0].count("/") > 1 or "\\" in text:
        raise BadSource(f"There is no folder {text}. Name an existing folder or a Hub repository (org/name).")
    repo, at, revision = text.partition("@")
    # By git's rules: it becomes a path.
    if at and (not revision.isprintable() or not revision or ".." in revision or revision.startswith("/")):
        raise BadSource(f"{text} names no revision after the @. Name a branch, tag or commit, or none.")
    if not _is_repository(repo):
        raise BadSource(f"'{text}' is neither a folder here nor a Hub repository (org/name).")
    return Source(repo, revision or None)


def local_source(text: str) -> Source:
    """The folder or file that the user typed; BadSource if MLX cannot be told its name."""
    whole = os.path.realpath(os.path.expanduser(text))
    try:
        whole.encode()
    except UnicodeEncodeError:
        raise BadSource(f"The name {whole} is not UTF-8, and MLX opens no others. Rename it.") from None
    return Source(whole)


def _is_repository(repo: str) -> bool:
    """The Hub's own rules for names."""
    if not _REPOSITORY.fullmatch(repo) or len(repo) > 96:
        return False
    return "--" not in repo and ".." not in repo and not repo.endswith(".git")
