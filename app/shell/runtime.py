"""Settings before MLX is imported (`prepare`), and an orderly end of the process (`release_streams`)."""

import ctypes
import gc
import os
import shutil
import sys
from contextlib import suppress

from models.child import QUIET

_openblas: ctypes.CDLL | None = None


def prepare() -> None:
    """Make MLX's CPU backend fast and the libraries quiet. A second call changes nothing.

    Variables that are set already stay. On Linux, OpenBLAS is loaded so that its symbols replace the
    reference BLAS (unless `MLX_SPEC_BLAS=reference`): float32 products are 15 to 40 times faster with it, and
    a pass over several rows costs little more than one over a single row. It gets one thread: two are a third
    faster on quiet cores, and half as fast beside another program. MLX's compiler is off there unless
    `MLX_SPEC_COMPILE=1` is set: on the CPU backend it runs g++ for seconds at first use; rounds take a fifth
    less time after that.
    """
    global _openblas
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if sys.platform != "linux":
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if os.environ.get("MLX_SPEC_COMPILE") != "1" or shutil.which("g++") is None:
        os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
    if _openblas is None and os.environ.get("MLX_SPEC_BLAS") != "reference":
        with suppress(OSError):
            _openblas = ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)


def rank() -> int:
    """This process's rank if `mlx.launch` started it on several Macs, else 0."""
    text = os.environ.get("MLX_RANK", "0")
    return int(text) if text.isdecimal() else 0


def blas() -> str:
    """The BLAS of matrix products: `OpenBLAS`, `reference` or `Accelerate` (macOS)."""
    if sys.platform != "linux":
        return "Accelerate"
    return "OpenBLAS" if _openblas is not None else "reference"


def release_streams() -> None:
    """Call it last: on Linux a process that leaves MLX's streams running aborts at its exit."""
    if sys.platform == "linux" and "mlx.core" in sys.modules:
        import mlx.core as mx

        gc.collect()  # rank 0 of several Macs releases the others when its engine is collected
        mx.synchronize()
        mx.clear_streams()
