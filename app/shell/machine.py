"""This machine: the device MLX computes on, and the versions of the packages that results depend on."""

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from app.shell.runtime import blas

PACKAGES = ("mlx-spec", "mlx", "mlx-lm", "transformers", "huggingface_hub", "textual")


def versions() -> dict[str, str]:
    """Installed version of every package a result depends on; absent ones are left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def circumstances() -> dict[str, Any]:
    """What a measurement depends on besides models and options. Needs `runtime.prepare`."""
    from mlx_spec.target.model import COMPILES

    return {"device": device_name(), "blas": blas(), "compiled": COMPILES, "versions": versions()}


def device_name() -> str:
    """For example `Apple M4 Pro (gpu)` or `AMD EPYC (cpu)`."""
    import mlx.core as mx

    kind = "gpu" if mx.default_device() == mx.Device(mx.gpu) else "cpu"
    return f"{mx.device_info().get('device_name', 'unknown')} ({kind})"
