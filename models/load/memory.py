"""Do the weights of these folders fit into memory? Asked before they are read, because a machine that runs
out of memory ends the program without a word."""

from pathlib import Path

from models.errors import DoesNotFit
from models.pairs.folder import bytes_by_dtype, read_json
from models.size_text import size_text


def check_memory(folders: list[Path], capacity: int, *, as_float32: bool) -> None:
    """Compare weights as they will lie in memory with `capacity` bytes.

    Raises:
        DoesNotFit: they need more.
    """
    needed = sum(weight_bytes(folder, as_float32=as_float32) for folder in folders)
    if needed > capacity:
        why = " as float32, which they become without Metal" if as_float32 else ""
        raise DoesNotFit(
            f"The weights need {size_text(needed)} of memory{why}, and {size_text(capacity)} can be used. "
            "Choose a smaller pair: `mlx-spec pairs` says what fits."
        )


def weight_bytes(folder: Path, *, as_float32: bool) -> int:
    """Bytes of a whole model's weights in memory."""
    stored = bytes_by_dtype(folder)
    if not as_float32:
        return stored.total()
    config = read_json(folder / "config.json") or {}
    bits = (config.get("quantization") or {}).get("bits", 32)
    growth = {"F16": 2, "BF16": 2, "U32": 32 / bits}
    return int(sum(count * growth.get(dtype, 1) for dtype, count in stored.items()))
