"""Reading a GGUF file: its tensors and its metadata."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlx.core as mx

from models.errors import BadChoice, BrokenFiles, reason_of


class Metadata:
    """The key-value pairs of a file."""

    def __init__(self, values: Mapping[str, Any], path: Path):
        self._values, self._path = values, path
        self.architecture = str(self.get("general.architecture"))

    def get(self, key: str, default: Any = None) -> Any:
        """A plain value. `{}` in a key is the architecture.

        Raises:
            BrokenFiles: the key is missing, and there is no default.
        """
        value = self._values.get(key.format(getattr(self, "architecture", "")), default)
        if value is None:
            raise BrokenFiles(f"{self._path} has no {key.format(self.architecture)} in its metadata.")
        return value.tolist() if isinstance(value, mx.array) else value

    def __contains__(self, key: str) -> bool:
        return key.format(self.architecture) in self._values


def read_gguf(path: Path) -> tuple[dict[str, mx.array], Metadata]:
    """The tensors and the metadata of a file.

    Raises:
        BrokenFiles: the file is truncated.
        BadChoice: MLX does not read its number format.
    """
    try:
        with _writable(path) as file:
            weights, values = mx.load(str(file), format="gguf", return_metadata=True)  # type: ignore[misc]
    except (RuntimeError, ValueError) as error:
        reason = reason_of(error)
        if "f16" in reason or "type" in reason:
            raise BadChoice(
                f"{path} has a quantization that MLX does not support ({reason}). "
                "Use a Q4_0, Q8_0, F16 or K-quant file."
            ) from error
        raise BrokenFiles(f"{path} cannot be read as GGUF ({reason}). Download it again.") from error
    return dict(weights), Metadata(dict(values), path)  # type: ignore[arg-type]


@contextmanager
def _writable(path: Path) -> Iterator[Path]:
    """The file, or a temporary writable copy: MLX opens GGUF files for writing even to read them."""
    if os.access(path, os.W_OK):
        yield path
        return
    with TemporaryDirectory(prefix="mlx-spec-") as folder:
        yield Path(shutil.copyfile(path, Path(folder) / path.name))
