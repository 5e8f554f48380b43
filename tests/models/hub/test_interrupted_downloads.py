"""A download that is cut off, cancelled or killed: nothing half is left, and the next one goes on."""

import fcntl
import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.errors import (
    BrokenFiles,
    DownloadFailed,
    NotInstalled,
    PullCancelled,
)
from models.hub.download import Progress, pull
from models.hub.incomplete import incomplete_files, partial_file, partial_files
from models.hub.partial_file import fetch
from models.hub.removal import removable_bytes
from models.hub.repository import HubFile, Repository
from models.pairs.installed import installed, installed_folder, is_installed, repository_folder
from models.pairs.pair import Source
from tests.models.hub.pulling import SPEC, last, widened
from tests.models.hub_server import HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


def test_a_cut_connection_is_said_and_pulling_again_completes(hub: HubServer, home: Path) -> None:
    hub.cut_after["model.safetensors"] = 2_500_000
    hub.models["org/draft"].files = widened(hub.models["org/draft"].files, home / "wide")
    del hub.models["org/target"].files["model.safetensors"]
    hub.models["org/target"].files["model-00001.safetensors"] = (
        home / "made/target/model.safetensors"
    ).read_bytes()

    with pytest.raises(DownloadFailed, match="connection broke while fetching org/draft.*Pull again"):
        last()

    assert not installed(SPEC) and not is_installed(SPEC.sources[1])
    assert not incomplete_files(["org/target", "org/draft"])
    with pytest.raises(NotInstalled, match="mlx-spec pull --target org/target --draft org/draft"):
        installed_folder(SPEC.sources[1], SPEC)

    (part,) = partial_files(["org/target", "org/draft"])
    here = part.stat().st_size
    assert here == 2 << 20, "whole steps of what came"
    hub.cut_after.clear()
    hub.requests.clear()
    hub.count_anew()
    assert last().phase == "done"
    assert installed(SPEC)
    assert hub.downloads() == ["model.safetensors"], "finished files are kept"
    assert hub.sent_bytes == len(hub.models["org/draft"].files["model.safetensors"]) - here


def cancelled_after(count: int, hub: HubServer) -> list[Progress]:
    """The progress of a pull that is cancelled once so many bytes of it have come, and the whole draft."""
    draft = hashlib.sha256(hub.models["org/draft"].files["model.safetensors"]).hexdigest()
    whole = repository_folder("org/draft") / "blobs" / draft
    begun: list[Progress] = []

    def enough() -> bool:
        return bool(begun) and begun[-1].transferred_bytes > count and whole.exists()

    with pytest.raises(PullCancelled):
        for progress in pull(SPEC, cancelled=enough):
            begun.append(progress)
    return begun


def test_a_cancelled_pull_installs_nothing_and_the_next_one_goes_on_where_it_ended(
    hub: HubServer, home: Path
) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    hub.stall_after["model.safetensors"] = 5_000_000

    begun = cancelled_after(3_000_000, hub)

    assert begun[-1].fraction < 1
    assert not installed(SPEC) and not is_installed(SPEC.target)
    assert not incomplete_files(["org/target", "org/draft"])
    (part,) = partial_files(["org/target"])
    here = part.stat().st_size
    assert here >= 2 << 20 and removable_bytes(SPEC) > here

    hub.stall_after.clear()
    hub.count_anew()
    hub.stall_after["model.safetensors"] = 0
    pulling = pull(SPEC)
    goes_on = next(progress for progress in pulling if progress.phase == "weights")
    hub.stall_after.clear()
    *_, end = pulling
    assert installed(SPEC) and not partial_files(["org/target", "org/draft"])
    weights = len(hub.models["org/target"].files["model.safetensors"])
    assert hub.sent_bytes == end.transferred_bytes == weights - here
    assert goes_on.done_bytes >= here, "the bar begins where it ended"
    assert end.done_bytes == end.total_bytes


def test_a_hub_that_sends_a_file_from_its_beginning_again_is_understood(hub: HubServer, home: Path) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    hub.stall_after["model.safetensors"] = 5_000_000
    cancelled_after(2_000_000, hub)
    hub.stall_after.clear()
    hub.ignores_ranges = True

    progress = last()

    assert installed(SPEC) and progress.done_bytes == progress.total_bytes


def test_parts_that_are_not_of_the_file_are_found_and_deleted(hub: HubServer) -> None:
    blob = hashlib.sha256(hub.models["org/target"].files["model.safetensors"]).hexdigest()
    part = partial_file("org/target", blob)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)

    with pytest.raises(BrokenFiles, match="came in parts that do not fit"):
        last()
    assert not installed(SPEC) and not part.exists()

    assert last().phase == "done" and installed(SPEC)


def test_a_file_that_another_program_fetches_is_fetched_beside_it(hub: HubServer) -> None:
    blob = hashlib.sha256(hub.models["org/target"].files["model.safetensors"]).hexdigest()
    part = partial_file("org/target", blob)
    part.parent.mkdir(parents=True)
    with part.open("wb") as others:
        fcntl.flock(others, fcntl.LOCK_EX)

        assert last().phase == "done" and installed(SPEC)

        assert part.read_bytes() == b""


def test_a_file_that_another_program_ends_before_it_is_locked_is_left_as_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = HubFile("model.safetensors", size=5, blob="a" * 64)
    part, blob = partial_file("org/target", file.blob), repository_folder("org/target") / "blobs" / file.blob
    part.parent.mkdir(parents=True)
    part.write_bytes(b"whole")
    monkeypatch.setattr("fcntl.flock", lambda *_: part.replace(blob))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)

    fetch(Repository(Source("org/target"), "c" * 40, (file,)), file, bar=None, begins_at=lambda here: None)

    assert blob.read_bytes() == b"whole" and not part.exists()


def test_unfinished_files_of_others_stay_until_they_are_a_day_old(hub: HubServer) -> None:
    blobs = repository_folder("org/target") / "blobs"
    blobs.mkdir(parents=True)
    fresh, old = blobs / "a.1.incomplete", blobs / "b.2.incomplete"
    for file in (fresh, old):
        file.write_bytes(b"x")
    yesterday = time.time() - 90_000
    os.utime(old, (yesterday, yesterday))

    last()

    assert fresh.exists() and not old.exists()


def test_closing_the_generator_cancels(hub: HubServer, home: Path) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    hub.seconds_per_step = 0.1

    pulling = pull(SPEC)
    assert any(partial_files(["org/target"]) for _ in pulling), "a file is on its way"
    pulling.close()

    assert not incomplete_files(["org/target", "org/draft"]) and not installed(SPEC)
    (part,) = partial_files(["org/target"])
    before = part.stat().st_size
    time.sleep(0.5)
    assert part.stat().st_size == before, "nobody writes any more"


def test_cancelling_while_a_small_file_comes_leaves_none_unfinished(hub: HubServer) -> None:
    hub.models["org/target"].files["tokenizer.json"] += b" " * 2_000_000
    hub.stall_after["tokenizer.json"] = 0

    pulling = pull(SPEC)
    assert any(incomplete_files(["org/target"]) for _ in pulling), "the Hub's library writes it"
    pulling.close()

    assert not incomplete_files(["org/target", "org/draft"])


def test_a_killed_download_process_is_said(hub: HubServer, home: Path) -> None:
    hub.stall_after["model.safetensors"] = 0
    pulling = pull(SPEC)
    next(pulling)
    _kill_children()

    with pytest.raises(DownloadFailed, match="ended unexpectedly.*signal 9"):
        list(pulling)


def _kill_children() -> None:
    """End the download processes of this process, which the system lists."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child, parent, command in _processes():
            if parent == os.getpid() and "download_child" in command:
                os.kill(child, signal.SIGKILL)
                return
        time.sleep(0.05)
    raise AssertionError("there was no download process")


def _processes() -> Iterator[tuple[int, int, str]]:
    """(id, parent's id, command line) of every process; a bare Linux has no `ps`."""
    if Path("/proc/self").exists():
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(entry.name), parent, (entry / "cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):
                continue
        return
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,command="], capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        child, parent, command = line.split(None, 2)
        yield int(child), int(parent), command
