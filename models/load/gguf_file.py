"""Reading a GGUF file: its metadata, and its tensors in MLX's formats.

MLX's own reader gives wrong numbers for Q4_K and knows neither Q3_K nor Q5_0, Q5_1 and Q5_K (0.32.4, compared
with llama.cpp's `gguf.quants`).
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from models.errors import BadChoice, BrokenFiles
from models.load.gguf_numbers import KINDS

LEAVES = "weight", "scales", "biases"
"""mlx-lm's names of a quantized matrix's arrays."""
DAMAGE = OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError, struct.error
"""What files raise that are truncated, damaged or may not be read."""
_TEXT, _LIST = 8, 9
_NUMBERS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""Formats of metadata, by their number in the file."""
_PLAIN = {0: (np.float32, mx.float32), 1: (np.float16, mx.float16), 30: (np.uint16, mx.bfloat16)}
"""F32, F16 and BF16, by their number in the file: as NumPy reads them, and what they are."""


class Metadata:
    """The key-value pairs of a file."""

    def __init__(self, values: Mapping[str, Any], path: Path):
        self._values, self._path, self.architecture = values, path, ""
        self.architecture = str(self.get("general.architecture"))

    def get(self, key: str, default: Any = None) -> Any:
        """A plain value. `{}` in a key is the architecture.

        Raises:
            BrokenFiles: the key is missing, and there is no default.
        """
        value = self._values.get(key.format(self.architecture), default)
        if value is None:
            raise BrokenFiles(f"{self._path} has no {key.format(self.architecture)} in its metadata.")
        return value

    def __contains__(self, key: str) -> bool:
        return key.format(self.architecture) in self._values


@dataclass
class Tensors:
    """The tensors of a file."""

    arrays: dict[str, mx.array] = field(default_factory=dict)
    """A quantized matrix is three arrays, as mlx-lm names them."""
    rounded: int = 0
    """How many matrices are not the same bit for bit."""


def read_gguf(path: Path) -> tuple[Metadata, Callable[[], Tensors]]:
    """The metadata of a file, and a function that reads its tensors, which takes a while.

    Raises:
        BrokenFiles: its metadata is incomplete.
        BadChoice: it is a part of a model, or (from the function) its number format is not supported.
        One of `DAMAGE`: it cannot be read.
    """
    with path.open("rb") as file:
        content = _Bytes(mmap(file.fileno(), 0, access=ACCESS_READ))
    count, metadata = _read_metadata(content, path)
    return metadata, lambda: _read_tensors(content, count, metadata, path)


class _Bytes:
    """The content of a file, read from its begin."""

    def __init__(self, content: mmap):
        self.content, self.at = content, 0

    def take(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.content):
            raise ValueError("it ends too early")
        return self.content[self.at - count : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self) -> str:
        return self.take(self.number("<Q")).decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            kind, count = self.number("<I"), self.number("<Q")
            if form := _NUMBERS.get(kind):
                return list(struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize(f"<{form}"))))
            return [self.value(kind) for _ in range(count)]
        if kind not in _NUMBERS:
            raise ValueError(f"its metadata has a value of type {kind}")
        return self.number(f"<{_NUMBERS[kind]}")


def _read_metadata(file: _Bytes, path: Path) -> tuple[int, Metadata]:
    """The number of tensors, and the metadata."""
    if file.take(4) != b"GGUF" or file.number("<I") not in (2, 3):
        raise ValueError("it is no GGUF file of version 2 or 3")
    count, pairs = file.number("<Q"), file.number("<Q")
    values = {file.text(): file.value(file.number("<I")) for _ in range(pairs)}
    metadata = Metadata(values, path)
    if metadata.get("split.count", 1) > 1:
        raise BadChoice(
            f"{path} is one of {metadata.get('split.count')} parts of a model. Join them with llama.cpp's "
            "`llama-gguf-split --merge`, or use a version in one file."
        )
    return count, metadata


def _read_tensors(file: _Bytes, count: int, metadata: Metadata, path: Path) -> Tensors:
    tensors, table = Tensors(), []
    for _ in range(count):
        name, rank = file.text(), file.number("<I")
        shape = [file.number("<Q") for _ in range(rank)][::-1]
        table.append((name, shape, file.number("<I"), file.number("<Q")))
    step = metadata.get("general.alignment", 32)
    begin = -(-file.at // step) * step
    for name, shape, kind, offset in table:
        file.at = begin + offset
        if kind in _PLAIN:
            stored, dtype = _PLAIN[kind]
            numbers = np.frombuffer(file.take(prod(shape) * np.dtype(stored).itemsize), stored)
            tensors.arrays[name] = mx.array(numbers).view(dtype).reshape(shape)
        elif (found := KINDS.get(kind)) and name.endswith(".weight"):
            blocks = prod(shape) // found.weights
            content = np.frombuffer(file.take(blocks * found.size), np.uint8).reshape(blocks, found.size)
            leaves = dict(zip(LEAVES, found.in_mlx(mx.array(content), shape[0]), strict=True))
            mx.eval(leaves)  # or the bytes of all matrices would be in memory at once
            tensors.arrays |= {name.removesuffix("weight") + leaf: x for leaf, x in leaves.items()}
            tensors.rounded += found.rounded
        else:
            raise BadChoice(
                f"{path} has {name} in a number format that is not supported here (type {kind} of ggml). "
                "Use a Q4_0, Q8_0, F16, BF16 or K-quant file."
            )
    return tensors
