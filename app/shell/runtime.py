"""What a process owes MLX: settings before it is imported (`prepare`), an orderly end (`release_streams`)."""

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

    What the environment says already is kept. On Linux, OpenBLAS is loaded so that its symbols
    stand in for the reference BLAS (kept with `MLX_SPEC_BLAS=reference`): float32 products are 15 to 40
    times faster with it, and a pass over several rows costs little more than one over a single row. MLX's
    compiler is off there unless `MLX_SPEC_COMPILE=1` asks for it: on the CPU backend it runs g++ for seconds
    at first use; rounds take a fifth less time after that.
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
    """Of this process among those that `mlx.launch` started on several Macs; 0: it is the first, or alone."""
    text = os.environ.get("MLX_RANK", "0")
    return int(text) if text.isdecimal() else 0


def blas() -> str:
    """Which BLAS matrix products use: `OpenBLAS`, `reference` or the system's own."""
    if sys.platform != "linux":
        return "Accelerate"
    return "OpenBLAS" if _openblas is not None else "reference"


def release_streams() -> None:
    """Call it last: on Linux a process that leaves MLX's streams running aborts at its exit."""
    if sys.platform == "linux" and "mlx.core" in sys.modules:
        import mlx.core as mx

        gc.collect()  # an engine on several Macs lets the others go
        mx.synchronize()
        mx.clear_streams()
