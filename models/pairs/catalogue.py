"""The catalogue of pairs: reads catalogue.toml and the user's own pairs, finds by name, suggests drafts."""

import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from shlex import quote
from typing import Any

from models.errors import UnknownPair
from models.files import parse_json, shipped_table
from models.pairs.pair import PairSpec, Source
from models.paths import builtin_folder, own_pairs_file, packaged_folder

BUILTIN_PAIR = "builtin"
REAL_PAIR = "smollm2-135m"
"""The default pair once it is installed."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of the catalogue, with what is known about it before it is installed."""

    name: str
    target: Source
    draft: Source | None
    quantization: str
    download_bytes: int
    memory_bytes: int
    """Weights of both, caches at 4096 tokens, activations."""
    family: str = ""
    """Tokenizer family: all its models encode text alike."""
    licence: str = ""
    good_for: str = ""
    verified: bool = False
    """False: the facts are computed or from memory, and screens say so."""
    own: bool = False
    """One of the user's own pairs (`models.pairs.own_pairs`)."""

    @property
    def spec(self) -> PairSpec:
        return PairSpec(self.name, self.target, self.draft)


_KINDS = {field.name: field.type for field in fields(Pair)} | {"target": str, "draft": str}
_QUANTIZATION = re.compile(r"bf16|GGUF|[1-9]\d?-bit")
_LARGEST_BYTES = 2**63
_tables = partial(shipped_table, __file__, "catalogue.toml")


def all_pairs() -> tuple[Pair, ...]:
    """Every pair: the catalogue in its order, the built-in pair first, then the user's own."""
    return (*_shipped(builtin_folder(), packaged_folder()), *map(_pair, read_own()))


@cache  # the list of pairs asks for them hundreds of times
def _shipped(*_folders: Path) -> tuple[Pair, ...]:
    """The catalogue's, whose own models are in these folders."""
    return tuple(map(_pair, _tables()["pair"]))


def read_own() -> list[dict[str, Any]]:
    """The tables of the user's own pairs; unreadable files and tables are skipped."""
    try:
        return list(filter(is_pair, own_tables()))
    except (OSError, ValueError):
        return []


def own_tables() -> list[Any]:
    """All that the file of the user's own pairs lists; OSError or ValueError if it cannot be read."""
    try:
        found = parse_json(own_pairs_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    if not isinstance(found, dict) or not isinstance(tables := found.get("pair"), list):
        raise ValueError("it holds no list of pairs")
    return tables


def is_pair(table: object) -> bool:
    if not isinstance(table, dict) or {name: type(value) for name, value in table.items()} != _KINDS:
        return False
    plausible = all(0 <= table[size] < _LARGEST_BYTES for size in ("download_bytes", "memory_bytes"))
    return plausible and bool(_QUANTIZATION.fullmatch(table["quantization"]))


def find(name: str) -> Pair:
    """The pair of this name, ignoring case; UnknownPair suggests the nearest names."""
    pairs = {pair.name: pair for pair in all_pairs()}
    if pair := pairs.get(name.lower()):
        return pair
    if "/" in name:
        raise UnknownPair(f"There is no pair {name}. For a repository or folder: --target {quote(name)}")
    near = get_close_matches(name.lower(), pairs, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Known pairs: {', '.join(pairs)}."
    raise UnknownPair(f"There is no pair '{name}'. {hint}")


def near_repositories(repo: str) -> tuple[str, ...]:
    """Repositories of the catalogue with a similar name, nearest first; empty if it is in the catalogue."""
    known = {s.repo.lower(): s.repo for pair in all_pairs() for s in pair.spec.sources if not s.is_local}
    if repo in known.values():
        return ()
    return tuple(known[near] for near in get_close_matches(repo.lower(), known, n=2, cutoff=0.7))


def named_in(source: Source) -> str:
    """Where the name of a repository of the catalogue stands; empty for other models."""
    return str(_tables()["named_in"].get(source.repo, ""))


def fitting_draft(target: Source) -> str | None:
    """The catalogue's draft for the target's tokenizer family, guessed from the target's name; None for the
    draft itself, in whatever quantization."""
    name = Path(target.repo).name.lower()
    families = _tables()["family"].values()
    draft = next((family["draft"] for family in families if re.search(family["pattern"], name)), None)
    return draft if draft and re.sub(r"-\w+$", "", Path(draft).name.lower()) not in name else None


def _pair(table: dict[str, Any]) -> Pair:
    draft = None if table["draft"] == "none" else _source(table["draft"])
    return Pair(**{**table, "target": _source(table["target"]), "draft": draft})


def _source(text: str) -> Source:
    kind, _, name = text.partition("/")
    if kind == "builtin":
        return Source(str(builtin_folder() / name))
    if kind == "package":
        return Source(str(package(name).model))
    if Path(text).is_absolute():
        return Source(text)
    repo, _, revision = text.partition("@")
    return Source(repo, revision or None)


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package that ships a GGUF file."""

    name: str
    version: str
    sha256: str
    """Of the wheel."""
    file: str
    """The model's path in the package."""
    bytes: int
    """Of the wheel."""

    @property
    def model(self) -> Path:
        """The model's path once it is pulled."""
        return packaged_folder() / Path(self.file).name


def package(name: str) -> Package:
    """A package of the catalogue by name."""
    return Package(name, **_tables()["package"][name])


def package_of(source: Source) -> Package | None:
    """The package that ships the model, if any."""
    packages = map(package, _tables()["package"])
    return next((each for each in packages if source.repo == str(each.model)), None)
