"""Reading a GGUF file: its metadata, and its tensors in MLX's formats.

MLX's own reader gives wrong numbers for Q4_K and knows neither Q3_K nor Q5_0, Q5_1 and Q5_K (0.32.4, compared
with llama.cpp's `gguf.quants`).
"""

import struct
from collections import Counter
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np

from models.errors import BadChoice, BrokenFiles
from models.load.gguf_numbers import GROUP, KINDS

LEAVES: tuple[str, ...] = "weight", "scales", "biases"
"""mlx-lm's names of a quantized matrix's arrays."""
_TEXT, _LIST = 8, 9
_NUMBERS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""Formats of metadata, by their number in the file."""
_PLAIN = {0: ("F32", np.float32, mx.float32), 1: ("F16", np.float16, mx.float16),
          30: ("BF16", np.uint16, mx.bfloat16)}  # fmt: skip
"""By number in the file: name in safetensors, dtype as NumPy reads it, dtype."""


class Entry(NamedTuple):
    """A tensor in the file's table: `kind` is its number format, `offset` where it begins."""

    shape: list[int]
    kind: int
    offset: int


class GgufFile:
    """A file, of which all but its tensors' numbers is read at once.

    Raises:
        BrokenFiles: it is truncated, or its metadata is incomplete.
        BadChoice: it is a part of a model, or has a number format that is not supported.
        Exception: it is damaged otherwise.
    """

    def __init__(self, path: Path):
        with path.open("rb") as file:
            self._content = mmap(file.fileno(), 0, access=ACCESS_READ)
        self.path, self.architecture, self._at = path, "", 0
        if self._take(4) != b"GGUF" or self._number("<I") not in (2, 3):
            raise ValueError("it is not a GGUF file of version 2 or 3")
        count, pairs = self._number("<Q"), self._number("<Q")
        self._values = {self._text(): self._value(self._number("<I")) for _ in range(pairs)}
        self.architecture = str(self.get("general.architecture"))
        if (parts := self.get("split.count", 1)) > 1:
            raise BadChoice(
                f"{path} is one of {parts} parts of a model. Join them with llama.cpp's "
                "`llama-gguf-split --merge`, or use a version in one file."
            )
        self.table = dict(self._entry() for _ in range(count))
        """By tensor."""
        step = self.get("general.alignment", 32)
        self._begin = -(-self._at // step) * step

    def get(self, key: str, default: Any = None) -> Any:
        """A plain value of the metadata. `{}` in a key is the architecture.

        Raises:
            BrokenFiles: the key is missing, and there is no default.
        """
        value = self._values.get(key.format(self.architecture), default)
        if value is None:
            raise BrokenFiles(f"{self.path} has no {key.format(self.architecture)} in its metadata.")
        return value

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def note(self) -> str:
        """For the user; empty if all weights are the same bit for bit in MLX's format."""
        rounded = sum(kind in KINDS and KINDS[kind].rounded for _, kind, _ in self.table.values())
        return f"{self.path.name} has K-quants: {rounded} matrices are rounded." if rounded else ""

    def bytes_by_dtype(self) -> Counter[str]:
        """Bytes of the tensors in MLX's formats, by dtype name in safetensors."""
        count: Counter[str] = Counter()
        for shape, kind, _ in self.table.values():
            if kind in _PLAIN:
                name, stored, _ = _PLAIN[kind]
                count[name] += prod(shape) * np.dtype(stored).itemsize
            else:
                count["U32"] += prod(shape) * KINDS[kind].bits // 8
                count["F16"] += prod(shape) // GROUP * 4
        return count

    def tensor(self, name: str) -> dict[str, mx.array]:
        """A tensor by the last part of its name; a quantized matrix is three, as mlx-lm names them."""
        shape, kind, offset = self.table[name]
        self._at = self._begin + offset
        if kind in _PLAIN:
            _, stored, dtype = _PLAIN[kind]
            numbers = np.frombuffer(self._take(prod(shape) * np.dtype(stored).itemsize), stored)
            return {name.rpartition(".")[2]: mx.array(numbers).view(dtype).reshape(shape)}
        found = KINDS[kind]
        blocks = prod(shape) // found.weights
        content = np.frombuffer(self._take(blocks * found.size), np.uint8).reshape(blocks, found.size)
        leaves = dict(zip(LEAVES, found.in_mlx(mx.array(content), shape[0]), strict=True))
        mx.eval(leaves)  # or the bytes of all matrices would be in memory at once
        return leaves

    def _entry(self) -> tuple[str, Entry]:
        """The next tensor of the table."""
        name, rank = self._text(), self._number("<I")
        shape = [self._number("<Q") for _ in range(rank)][::-1]
        kind, offset = self._number("<I"), self._number("<Q")
        if kind not in _PLAIN and not (kind in KINDS and name.endswith(".weight")):
            raise BadChoice(
                f"{self.path} has {name} in a number format that is not supported here (type {kind} of "
                "ggml). Use a Q4_0, Q8_0, F16, BF16 or K-quant file."
            )
        return name, Entry(shape, kind, offset)

    def _take(self, count: int) -> bytes:
        """The next bytes."""
        self._at += count
        if self._at > len(self._content):
            raise BrokenFiles(f"{self.path} cannot be read as GGUF (it ends too early). Download it again.")
        return self._content[self._at - count : self._at]

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _text(self) -> str:
        return self._take(self._number("<Q")).decode()

    def _value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            kind, count = self._number("<I"), self._number("<Q")
            if form := _NUMBERS.get(kind):
                return list(struct.unpack(f"<{count}{form}", self._take(count * struct.calcsize(f"<{form}"))))
            return [self._value(kind) for _ in range(count)]
        if kind not in _NUMBERS:
            raise ValueError(f"its metadata has a value of type {kind}")
        return self._number(f"<{_NUMBERS[kind]}")
