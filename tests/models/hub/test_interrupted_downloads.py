"""A download that is interrupted, cancelled or killed leaves no broken file, and the next one resumes."""

import fcntl
import hashlib
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from models import child
from models.errors import BrokenFiles, MachineTrouble, NotInstalled, PullCancelled
from models.hub.download import pull
from models.hub.incomplete import partial_file, partial_files
from models.hub.partial_file import fetch
from models.hub.removal import removable_bytes
from models.hub.repository import HubFile, Repository
from models.pairs.installed import installed, installed_folder, is_installed, repository_folder
from models.pairs.pair import PairSpec, Source
from tests.models.hub.pulling import SPEC, last, widened
from tests.models.hub_server import HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


def weights_of(hub: HubServer, repo: str) -> bytes:
    return hub.models[repo].files["model.safetensors"]


def part_of(hub: HubServer, repo: str) -> Path:
    """The partial file of a repository's weights."""
    part = partial_file(repo, hashlib.sha256(weights_of(hub, repo)).hexdigest())
    part.parent.mkdir(parents=True, exist_ok=True)
    return part


def test_a_pair_is_not_called_pulled_if_one_model_was_removed_while_the_other_came(hub: HubServer) -> None:
    with pytest.raises(MachineTrouble, match="Files of tiny were removed during the download. Pull again"):
        for progress in pull(SPEC):
            if progress.phase == "done":
                shutil.rmtree(repository_folder("org/draft"))
    assert last().phase == "done" and installed(SPEC)


def test_a_model_that_is_removed_before_the_pair_is_checked_is_named(hub: HubServer) -> None:
    last(PairSpec("tiny", SPEC.target, None))
    hub.silent = "tokenizer.json"

    with pytest.raises(MachineTrouble, match="^org/target was removed during the download. Pull again"):
        for progress in pull(SPEC):
            if progress.phase == "tokenizers" and hub.silent:
                shutil.rmtree(repository_folder("org/target"))
                hub.silent = None


def test_after_a_cut_connection_pulling_again_completes(hub: HubServer, home: Path) -> None:
    hub.cut_after["model.safetensors"] = 2_500_000
    hub.models["org/draft"].files = widened(hub.models["org/draft"].files, home / "wide")
    target = hub.models["org/target"].files
    target["model-00001.safetensors"] = target.pop("model.safetensors")

    with pytest.raises(MachineTrouble, match="connection broke while fetching org/draft.*Pull again"):
        last()

    assert not installed(SPEC) and not is_installed(SPEC.sources[1])
    pull_again = "its weights are missing. Fix it with: mlx-spec pull --target org/target --draft org/draft"
    with pytest.raises(NotInstalled, match=f"^org/draft is incomplete here: {pull_again}"):
        installed_folder(SPEC.sources[1], SPEC)

    (part,) = (*partial_files("org/target"), *partial_files("org/draft"))
    here = part.stat().st_size
    assert here == 19 << 17, "whole steps of what came, small ones"
    hub.cut_after.clear()
    hub.requests.clear()
    hub.count_anew()
    assert last().phase == "done"
    assert installed(SPEC)
    assert hub.downloads() == ["model.safetensors"], "finished files are kept"
    assert hub.sent_bytes == len(weights_of(hub, "org/draft")) - here


def test_an_error_of_the_hub_that_passes_does_not_end_the_download(hub: HubServer) -> None:
    hub.far_status, hub.far_errors = 502, 3
    assert last().phase == "done" and installed(SPEC)
    assert hub.downloads().count("model.safetensors") == 5, "one more for each error"


def test_an_error_of_the_hub_that_passes_does_not_end_the_pull_at_its_first_request(hub: HubServer) -> None:
    hub.status, hub.errors = 500, 3
    assert last().phase == "done" and installed(SPEC)
    assert len([request for request in hub.requests if "target/revision" in request]) == 4


def test_a_connection_that_is_reset_in_a_file_does_not_end_the_download(hub: HubServer, home: Path) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    part, size = part_of(hub, "org/target"), len(weights_of(hub, "org/target"))
    hub.resets, hub.cut_after["model.safetensors"] = True, 1_000_000
    hub.stall_after["model.safetensors"] = 500_000
    alone = PairSpec("alone", SPEC.target, None)
    for _ in pull(alone):
        if part.exists() and part.stat().st_size:
            hub.cut_after.clear()
            hub.stall_after.clear()
    assert installed(alone) and hub.downloads().count("model.safetensors") == 2
    assert hub.sent_bytes < size + 1_000_000, "it went on where it was cut"


def test_a_cancelled_pull_installs_nothing_and_the_next_one_goes_on_where_it_ended(
    hub: HubServer, home: Path
) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    draft = repository_folder("org/draft") / "blobs" / part_of(hub, "org/draft").name.partition(".")[0]
    hub.stall_after["model.safetensors"] = 5_000_000
    begun: list[int] = []

    with pytest.raises(PullCancelled, match="The downloaded part is kept: pull again to resume"):
        for progress in pull(SPEC, cancelled=lambda: begun[-1:] > [3_000_000] and draft.exists()):
            assert progress.fraction < 1
            begun.append(progress.transferred_bytes)

    assert not installed(SPEC) and not is_installed(SPEC.target)
    (part,) = partial_files("org/target")
    here = part.stat().st_size
    assert here >= 2 << 20 and removable_bytes(SPEC) > here

    hub.stall_after.clear()
    hub.count_anew()
    hub.stall_after["model.safetensors"] = 0
    pulling = pull(SPEC)
    goes_on = next(progress for progress in pulling if progress.phase == "weights")
    hub.stall_after.clear()
    *_, end = pulling
    assert installed(SPEC) and not (*partial_files("org/target"), *partial_files("org/draft"))
    assert hub.sent_bytes == end.transferred_bytes == len(weights_of(hub, "org/target")) - here
    assert goes_on.done_bytes >= here, "the bar begins where it ended"
    assert end.done_bytes == end.total_bytes


def test_closing_the_generator_cancels_and_a_hub_may_send_a_file_from_its_beginning_again(
    hub: HubServer, home: Path
) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    hub.stall_after["model.safetensors"] = 3_000_000

    pulling = pull(SPEC)
    part = part_of(hub, "org/target")
    assert any(part.exists() and part.stat().st_size for _ in pulling), "a file is on its way"
    pulling.close()

    assert not installed(SPEC)
    hub.stall_after.clear()
    hub.count_anew()
    before = part.stat().st_size
    assert before > 0
    hub.ignores_ranges = True
    progress = last()
    assert installed(SPEC) and progress.done_bytes == progress.total_bytes


def test_parts_that_are_not_of_the_file_are_found_and_deleted(hub: HubServer) -> None:
    part, size = part_of(hub, "org/target"), len(weights_of(hub, "org/target"))
    for begun, announced in ((1000, size), (0, size + 1), (size, size + 1)):
        part.write_bytes(b"x" * begun)
        hub.models["org/target"].announced_sizes["model.safetensors"] = announced
        with pytest.raises(BrokenFiles, match="not what the Hub announced; deleted. Pull again"):
            last()
        assert not installed(SPEC) and not part.exists()

    hub.models["org/target"].announced_sizes.clear()
    part.write_bytes(b"x" * (size + 1))
    assert last().phase == "done" and installed(SPEC)


def test_a_file_that_another_program_fetches_is_waited_for(hub: HubServer) -> None:
    part = part_of(hub, "org/target")
    with part.open("wb") as others:
        fcntl.flock(others, fcntl.LOCK_EX)
        pulling = pull(SPEC)
        next(progress for progress in pulling if progress.phase == "weights")
        others.write(weights_of(hub, "org/target"))
        others.flush()
        part.replace(part.with_name(part.name.partition(".")[0]))

    *_, end = pulling
    assert end.phase == "done" and installed(SPEC)
    assert hub.downloads().count("model.safetensors") == 1, "the draft's"


def test_a_file_that_another_program_ends_before_it_is_locked_is_left_as_it_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = HubFile("model.safetensors", size=5, blob="a" * 64)
    repository = Repository(Source("org/target"), "c" * 40, (file,))
    part, blob = partial_file("org/target", file.blob), repository.blob(file)
    part.parent.mkdir(parents=True)
    part.write_bytes(b"whole")
    monkeypatch.setattr("fcntl.flock", lambda *_: part.replace(blob))

    fetch(repository, file)

    assert blob.read_bytes() == b"whole" and not part.exists()


def test_a_file_that_is_deleted_while_it_is_fetched_is_named(hub: HubServer, home: Path) -> None:
    hub.models["org/target"].files = widened(hub.models["org/target"].files, home / "wide")
    hub.stall_after["model.safetensors"] = 1_000_000
    part = part_of(hub, "org/target")
    named = "model.safetensors of org/target was deleted while it was fetched. Pull again"
    with pytest.raises(MachineTrouble, match=named):
        for _ in pull(SPEC):
            if part.exists():
                part.unlink()
                hub.stall_after.clear()
    assert last().phase == "done" and installed(SPEC)


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


def test_a_killed_download_process_is_reported(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, started = child.subprocess.Popen, list[Any]()

    def recorded(*arguments: Any, **options: Any) -> Any:
        started.append(honest(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(child.subprocess, "Popen", recorded)
    hub.stall_after["model.safetensors"] = 0
    pulling = pull(SPEC)
    next(pulling)
    os.kill(started[0].pid, signal.SIGKILL)

    with pytest.raises(MachineTrouble, match="ended unexpectedly.*signal 9"):
        list(pulling)
