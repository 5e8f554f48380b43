"""Checks that a folder is a whole model or drafter, from its small files and safetensors headers."""

import hashlib
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable, Set
from functools import lru_cache
from math import prod
from pathlib import Path
from shlex import quote
from typing import Any

from models.errors import BadChoice, BadSource, BrokenFiles
from models.files import parse_json
from models.pairs.config_json import check_settings
from models.pairs.drafter_kinds import DRAFT_MODELS, LAYER_SKIP, MODEL, config_kind
from models.pairs.pair import Source

INDEX = "model.safetensors.index.json"
ADAPTER = "adapter_config.json"
"""Of an adapter, as PEFT and mlx-lm save it: small changes to another model's weights."""
READ_AT_LOAD = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
)
"""Optional JSON files that loading a model reads, beside config.json."""
BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "U16": 16, "I16": 16,
         "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32, "U64": 64, "I64": 64, "F64": 64,
         "C64": 64, "F4": 4}  # fmt: skip
"""Bits per number, by dtype name in safetensors."""
WEIGHTS = ("model*.safetensors", "medusa_lm_head.safetensors")
"""Files of weights; the second name is that of published Medusa heads."""
_DRAFTER_WANTED = "Name a folder that `mlx-spec train` made, or a draft model's; a repository with --draft."
_HEADER_LIMIT = 100_000_000
_SHA1_LENGTH = 40


def folder_kind(folder: Path) -> str:
    """`config_kind` of a folder; a GGUF file is a `model`."""
    return config_kind(read_config(folder))


def check_target(folder: Path, where: object) -> None:
    """Raise BadChoice for a drafter."""
    if (kind := folder_kind(folder)) != MODEL:
        raise BadChoice(
            f"{where} holds a drafter ({kind}), not a model. Name the model that it was made for, and this "
            "with --draft."
        )


def check_folder(folder: Path) -> int:
    """Check a model or drafter, and return the bytes of its weights. Of a GGUF file only the first bytes are
    checked, and the size is the whole file's.

    Raises:
        BadChoice: no config.json, no safetensors, no tokenizer; an adapter.
        BrokenFiles: a file named by the index is missing, or a file is truncated or unreadable.
    """
    if folder.is_file():
        with folder.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise _broken(folder, "is not a GGUF file")
        return folder.stat().st_size
    _check_no_adapter(folder)
    config = read_json(folder / "config.json")
    if config is None:
        one = next((f" Name a file in it: {file}" for file in sorted(folder.glob("*.gguf"))), "")
        raise BadChoice(f"{folder} holds no config.json; it is not a model folder.{one}")
    check_settings(config, str(folder), os.listdir(folder))
    for name in READ_AT_LOAD if config_kind(config) in DRAFT_MODELS else ():
        check_json_file(folder / name)
    return sum(map(check_safetensors, weight_files(folder)))


def check_drafter(folder: Path) -> str:
    """The kind of the drafter in a folder or GGUF file: `eagle`, `mtp`, `layer_skip`, `pard`, `model`, ...

    Raises:
        BadSource: no folder, no config.json, or an unknown kind.
        ModelsError: as `check_folder`.
    """
    if not os.path.exists(folder):
        raise BadSource(f"There is no drafter folder {folder}. {_DRAFTER_WANTED}")
    _check_no_adapter(folder)
    config = {} if folder.is_file() else read_json(folder / "config.json")
    if config is None:
        raise BadSource(f"{folder} holds no config.json; it is not a drafter. {_DRAFTER_WANTED}")
    try:
        check_folder(folder)
    except BrokenFiles as error:
        raise BrokenFiles(f"{error} Train or download it again.", error.path) from error
    return config_kind(config)


def _check_no_adapter(folder: Path) -> None:
    if (folder / ADAPTER).exists() and not any(folder.glob(WEIGHTS[0])):
        raise BadChoice(
            f"{folder} holds an adapter, not a whole model. Merge it into its model, one of mlx-lm's with "
            f"`mlx_lm.fuse --model MODEL --adapter-path {quote(str(folder))}`, and name the folder with both."
        )


def by_kind(drafters: Iterable[Source]) -> dict[str, Source]:
    """The drafters' folders by kind; BadSource for two of one kind, else as `check_drafter`."""
    found = dict[str, Source]()
    for source in drafters:
        kind = check_drafter(Path(source.repo))
        if found.setdefault(kind, source) != source:
            raise BadSource(f"{found[kind]} and {source} are both of the kind {kind}. Name one of them.")
    return found


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files that are loaded; raises as `check_folder`."""
    if folder_kind(folder) == LAYER_SKIP:
        return []
    files = sorted(file for name in WEIGHTS for file in folder.glob(name))
    check_index(folder, {path.name for path in files})
    if not files:
        raise BadChoice(f"{folder} holds no model*.safetensors; only safetensors weights are loaded.")
    return files


def check_index(folder: Path, files: Set[str]) -> None:
    """Raise BrokenFiles if the folder's index names weight files that are not among these."""
    weight_map = (read_json(folder / INDEX) or {}).get("weight_map", {})
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise _broken(folder / INDEX, "names no weight files")
    named = set(weight_map.values())
    if (missing := sorted(named - files)) and not _are_all(files):
        count = f"{len(missing)} of {len(named)} weight files"
        raise BrokenFiles(f"{folder} is incomplete: {count} missing, first {missing[0]}.")


def _are_all(files: Iterable[str]) -> bool:
    """Whether their own names tell that none is missing: `model-00001-of-00002.safetensors`, ... An index may
    be wrong: older versions of mlx-vlm leave the original's (Blaizzy/mlx-vlm#624)."""
    counts = [re.fullmatch(r"model-\d+-of-0*(\d+)\.safetensors", file) for file in files]
    return {count and count[1] for count in counts} == {str(len(counts))}


def check_json_file(path: Path) -> None:
    """Raise BrokenFiles unless the file matches the Hub's checksum, is a JSON object, or is missing.

    A tokenizer is megabytes of JSON: its checksum takes a tenth of the time of parsing it.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _broken(path, f"cannot be read ({error.strerror})") from error
    if trouble := _json_trouble(path.resolve(), path.name, status.st_size, status.st_mtime_ns):
        raise _broken(path, trouble)


def check_safetensors(path: Path) -> int:
    """Bytes of the file's tensors; BrokenFiles if its header does not match its size."""
    tensors, start, size = _read_header(path)
    end = max((_end(path, name, tensor) for name, tensor in tensors.items()), default=0)
    if start + end != size:
        raise _broken(path, f"is damaged: it has {size:,} bytes, its header names {start + end:,}")
    return end


def tensor_names(path: Path) -> list[str]:
    """The tensors in a file; BrokenFiles if its header cannot be read."""
    return list(_read_header(path)[0])


def bytes_by_dtype(folder: Path) -> Counter[str]:
    """Bytes of a whole model's tensors by dtype name in safetensors (`BF16`, `U32`)."""
    count: Counter[str] = Counter()
    for path in weight_files(folder):
        for tensor in _read_header(path)[0].values():
            first, last = tensor["data_offsets"]
            count[tensor["dtype"]] += last - first
    return count


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's JSON object; None if there is no file, BrokenFiles if it is not a JSON object."""
    try:
        return _json_object(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, OSError) as error:
        raise _broken(path, f"cannot be read as JSON ({error})") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a folder; empty without one, as for a GGUF file. BrokenFiles as `read_json`."""
    return read_json(folder / "config.json") or {}


def is_checksum(name: str) -> bool:
    """Whether a file name of the Hub's cache is a checksum: SHA-256, or Git's SHA-1 for small files."""
    return bool(re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name))


def holds(file: Path, name: str) -> bool:
    """Whether the name is the checksum of the file's content."""
    if not is_checksum(name):
        return False
    digest = hashlib.sha256()
    if len(name) == _SHA1_LENGTH:
        digest = hashlib.sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest() == name


def _json_object(path: Path) -> dict[str, Any]:
    found = parse_json(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


@lru_cache(maxsize=512)
def _json_trouble(file: Path, name: str, size: int, changed: int) -> str:
    """What is wrong with the file; empty if nothing is. `size` and `changed` are part of the cache's key."""
    try:
        if holds(file, file.name):
            return ""
        found = _json_object(file)
    except (ValueError, OSError) as error:
        return f"cannot be read as JSON ({error})"
    model = found.get("model")
    if name == "tokenizer.json" and not (isinstance(model, dict) and model.get("vocab")):
        return "holds no tokenizer"
    return ""


def _read_header(path: Path) -> tuple[dict[str, Any], int, int]:
    """The header's tensors (8 bytes of length, then JSON), the offset of their data, and the file's size."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
            if not 2 <= length <= min(size - 8, _HEADER_LIMIT):
                raise _broken(path, f"({size:,} bytes) is not a safetensors file or is truncated")
            header = dict(parse_json(file.read(length)))
    except OSError as error:
        raise _broken(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, TypeError) as error:
        raise _broken(path, "is not a safetensors file: its header cannot be read") from error
    header.pop("__metadata__", None)
    return header, 8 + length, size


def _end(path: Path, name: str, tensor: Any) -> int:
    """The end of the tensor's data; BrokenFiles if its size does not match its shape."""
    try:
        first, last = tensor["data_offsets"]
        if (last - first) * 8 == BITS[tensor["dtype"]] * prod(tensor["shape"]):
            return int(last)
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, f"has an unreadable header at tensor {name}") from error
    raise _broken(path, f"has a damaged header: tensor {name} does not fill its place")


def _broken(path: Path, why: str) -> BrokenFiles:
    return BrokenFiles(f"{path.name} in {path.parent} {why}.", path)
