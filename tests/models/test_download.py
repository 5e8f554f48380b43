"""Pulling, against a Hub on a local port: real sockets, the real library, real (tiny) models."""

import fcntl
import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from models.download import Progress, check, pull
from models.errors import (
    AccessNeeded,
    BrokenFiles,
    DoesNotFit,
    DownloadFailed,
    IncompatibleTokenizers,
    NotInstalled,
    PullCancelled,
    RepositoryMissing,
    RevisionMissing,
    UnsupportedFormat,
)
from models.incomplete import incomplete_files, partial_file, partial_files
from models.installed import find_folder, installed, installed_folder, is_installed, repository_folder
from models.load import load
from models.pair import PairSpec, Source
from models.paths import revisions_file
from models.removal import removable_bytes
from tests.models.conftest import own_home
from tests.models.hub_server import OLD, HostedModel, HubServer
from tests.models.tiny_models import files_of, make_model, make_pair, make_tokenizer

SPEC = PairSpec("tiny", Source("org/target"), Source("org/draft"))


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Serves a whole pair: org/target and org/draft."""
    target, draft = make_pair(home / "made")
    hosted = {"org/target": HostedModel(files_of(target)), "org/draft": HostedModel(files_of(draft))}
    with HubServer(hosted) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def last(spec: PairSpec = SPEC) -> Progress:
    *_, progress = pull(spec)
    return progress


def widened(files: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """The same model with a vocabulary of so many rows that its weights take a while to come."""
    return files | files_of(make_model(folder, vocab_size=60_000))


@dataclass(frozen=True)
class Pulled:
    """What one whole pull said and asked for."""

    seen: list[Progress]
    requests: list[str]
    downloads: list[str]
    sent_bytes: int
    can_draft: bool
    unfinished: int


@pytest.fixture(scope="module")
def pulled(tmp_path_factory: pytest.TempPathFactory) -> Pulled:
    """One pull of a pair whose target's repository holds much that is not needed."""
    folder = tmp_path_factory.mktemp("pulled")
    target, draft = make_pair(folder / "made")
    heavy = (
        "pytorch_model.bin",
        "q4.gguf",
        "consolidated.pth",
        "evil.py",
        "original/model.safetensors",
        "README.md",
    )
    files = files_of(target) | {name: b"x" * 1000 for name in heavy}
    hosted = {"org/target": HostedModel(files), "org/draft": HostedModel(files_of(draft))}
    with pytest.MonkeyPatch.context() as patch, HubServer(hosted) as hub:
        own_home(folder, patch)
        patch.setenv("HF_ENDPOINT", hub.url)
        seen = list(pull(SPEC))
        unfinished = len(incomplete_files(["org/target", "org/draft"]))
        drafts = load(SPEC).engine.can_draft
        return Pulled(seen, hub.requests, hub.downloads(), hub.sent_bytes, drafts, unfinished)


def test_a_pull_brings_both_models_and_its_progress_ends_at_100_percent(pulled: Pulled) -> None:
    end = pulled.seen[-1]
    assert end.phase == "done" and end.fraction == 1.0
    assert [m.done_bytes for m in end.models] == [m.total_bytes for m in end.models]
    assert end.transferred_bytes == pulled.sent_bytes == end.total_bytes > 0
    fractions = [progress.fraction for progress in pulled.seen]
    assert fractions == sorted(fractions) and max(fractions[:-1]) < 1
    assert pulled.unfinished == 0
    assert pulled.can_draft


def test_only_what_mlx_lm_reads_is_fetched_and_asked_for(pulled: Pulled) -> None:
    needed = {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    assert set(pulled.downloads) == needed
    requests = 2 + 2 * len(needed) + 1
    assert len(pulled.requests) == 2 * requests, "revision, tree, HEAD and GET per file, a redirected GET"


def test_small_files_of_both_models_come_before_any_weights(pulled: Pulled) -> None:
    weights = [name.endswith(".safetensors") for name in pulled.downloads]
    assert weights == sorted(weights)


def test_a_second_pull_transfers_nothing_and_works_offline(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    last()
    hub.requests.clear()

    assert last().transferred_bytes == 0
    assert hub.requests == []

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert last().phase == "done"


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "5",
        "[" * 100_000,
        '{"org/target": []}',
        '{"org/target": {"main": 5}}',
        '{"org/target": 1}',
    ],
)
def test_damage_in_our_own_record_of_commits_counts_as_nothing_recorded(hub: HubServer, damage: str) -> None:
    revisions_file().parent.mkdir(parents=True)
    revisions_file().write_text(damage)
    assert not installed(SPEC)

    last()

    assert installed(SPEC)
    revisions_file().write_text(damage)
    assert installed(SPEC), "by the cache's branches"


@pytest.mark.parametrize("revision", [None, "v1", OLD])
def test_a_pull_succeeds_though_our_own_folder_cannot_be_written(
    hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch, revision: str | None
) -> None:
    hub.models["org/target"].commits["v1"] = OLD
    spec = PairSpec("tiny", Source("org/target", revision), None)
    (home / "file").write_text("not by its mode, which root may ignore")
    monkeypatch.setenv("MLX_SPEC_HOME", str(home / "file"))

    assert last(spec).phase == "done"
    assert installed(spec)


def test_a_pinned_revision_is_fetched_at_its_commit(hub: HubServer) -> None:
    hub.models["org/target"].commits["v1"] = OLD
    spec = PairSpec("tiny", Source("org/target", "v1"), None)

    last(spec)

    folder = find_folder(spec.target)
    assert folder is not None and folder.name == OLD
    assert not is_installed(Source("org/target")), "another revision is another model"


def test_a_pulled_model_stays_at_its_commit_when_the_branch_moves(hub: HubServer) -> None:
    last()
    before = find_folder(SPEC.target)
    hub.models["org/target"].commits["main"] = OLD

    last()

    assert find_folder(SPEC.target) == before


def test_a_missing_repository_is_named_with_a_near_one(hub: HubServer) -> None:
    spec = PairSpec("typo", Source("mlx-community/Qwen3-8B-4bits"), None)

    with pytest.raises(RepositoryMissing, match="Did you mean mlx-community/Qwen3-8B-4bit"):
        last(spec)


def test_a_missing_revision_is_named(hub: HubServer) -> None:
    with pytest.raises(RevisionMissing, match="org/target has no revision v9"):
        last(PairSpec("tiny", Source("org/target", "v9"), None))


def test_a_gated_repository_names_the_page_and_how_to_log_in(hub: HubServer) -> None:
    hub.models["org/target"].gated = True

    with pytest.raises(AccessNeeded, match=rf"{hub.url}/org/target.*hf auth login.*HF_TOKEN"):
        last()

    assert not installed(SPEC)


def test_a_gated_repository_opens_with_a_token(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.models["org/target"].gated, hub.models["org/target"].token = True, "hf_good"

    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(AccessNeeded, match="your token has no access"):
        last()

    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert last().phase == "done"


def test_a_refused_token_is_said_with_how_to_get_another(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.status = 401
    monkeypatch.setenv("HF_TOKEN", "hf_old")

    with pytest.raises(AccessNeeded, match="token is not accepted.*hf auth login"):
        last()


def test_checking_a_pair_fetches_its_small_files_alone(hub: HubServer) -> None:
    *_, progress = check(SPEC)

    assert progress.phase == "done" and progress.total_bytes > 0
    assert "model.safetensors" not in hub.downloads() and "tokenizer.json" in hub.downloads()
    assert not installed(SPEC)


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


def test_a_full_disk_is_foretold(hub: HubServer) -> None:
    hub.models["org/target"].announced_sizes["model.safetensors"] = 10**15
    hub.models["org/draft"].announced_sizes["model.safetensors"] = 10**15

    with pytest.raises(DoesNotFit, match=r"takes 2000000\.\d GB, and .* are free"):
        last()

    assert hub.downloads() == []


def test_offline_mode_without_the_files_is_said(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(DownloadFailed, match="offline mode is on"):
        last()

    assert hub.requests == []


def test_no_connection_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    with pytest.raises(DownloadFailed, match=r"No connection to http://127\.0\.0\.1:9"):
        last()


def test_an_error_of_the_hub_is_said(hub: HubServer) -> None:
    hub.status = 500

    with pytest.raises(DownloadFailed, match="answers with error 500"):
        last()


@pytest.mark.parametrize("page", [b"<html>Sign in to continue</html>", b"{}"])
def test_a_page_in_place_of_the_hub_is_said(hub: HubServer, page: bytes) -> None:
    hub.page = page

    with pytest.raises(DownloadFailed, match=rf"{hub.url} does not answer like the Hub. Check HF_ENDPOINT"):
        last()


@pytest.mark.parametrize(
    "address",
    ["notaurl", "ftp://x", "http://", "", "https://[::1", "http://127.0.0.1:99999", "http://x:port"],
)
def test_an_endpoint_that_is_no_web_address_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    with pytest.raises(DownloadFailed, match="HF_ENDPOINT is '.*', which is no web address. Unset it"):
        last()


def test_an_endpoint_that_no_request_can_be_sent_to_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://a\x01b")

    with pytest.raises(DownloadFailed, match="No request can be sent to .* Check HF_ENDPOINT"):
        last()


@pytest.mark.parametrize("address", ["http://me:secret@127.0.0.1:9", "http://me:s/ecret@x", "me:secret@x"])
def test_a_password_in_the_endpoint_is_not_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    with pytest.raises(DownloadFailed, match=r"\*\*\*@") as raised:
        last()

    assert "ecret" not in str(raised.value)


def test_what_the_download_process_prints_before_it_dies_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not read as one of its messages."""
    dying = "import os\nos.write(1, b'Error importing something: it is broken\\n')\nos._exit(3)\n"
    (home / "sitecustomize.py").write_text(dying)
    monkeypatch.setenv("PYTHONPATH", str(home))

    with pytest.raises(DownloadFailed, match=r"exit status 3: Error importing something: it is broken"):
        last()


@pytest.mark.parametrize("damage", [lambda body: b"<html>" + body[6:], lambda body: body[:-100]])
def test_damaged_weights_are_deleted_and_pulling_again_mends(
    hub: HubServer, damage: Callable[[bytes], bytes]
) -> None:
    whole = hub.models["org/target"].files["model.safetensors"]
    hub.models["org/target"].files["model.safetensors"] = damage(whole)

    with pytest.raises(BrokenFiles, match="model.safetensors of org/target arrived damaged and was deleted"):
        last()
    assert not installed(SPEC)
    folder = find_folder(SPEC.target)
    assert folder is not None and not (folder / "model.safetensors").exists()

    hub.models["org/target"].files["model.safetensors"] = whole
    last()
    assert installed(SPEC)


@pytest.mark.parametrize("damage", [lambda body: body[:1000], lambda body: b"x" * 100 + body[100:]])
def test_files_damaged_after_a_pull_are_fetched_again(
    hub: HubServer, damage: Callable[[bytes], bytes]
) -> None:
    last()
    folder = find_folder(SPEC.target)
    assert folder is not None
    blob = (folder / "model.safetensors").resolve()
    blob.write_bytes(damage(blob.read_bytes()))
    assert not installed(SPEC)
    hub.requests.clear()

    assert last().phase == "done"
    assert installed(SPEC)
    assert hub.downloads() == ["model.safetensors"]


def test_a_file_that_is_discarded_leaves_no_link_to_nothing_in_another_revision(hub: HubServer) -> None:
    hub.models["org/target"].commits["old"] = OLD
    new, old = (PairSpec("tiny", Source("org/target", revision), None) for revision in (None, "old"))
    last(new)
    last(old)
    folders = [find_folder(spec.target) for spec in (new, old)]
    assert folders[0] and folders[1] and folders[0] != folders[1]
    blob = (folders[0] / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:1000])
    hub.cut_after["model.safetensors"] = 0

    with pytest.raises(DownloadFailed):
        last(new)

    assert all(path.exists() for folder in folders if folder for path in folder.iterdir())
    hub.cut_after.clear()
    last(old)
    assert installed(old)


def test_a_file_whose_bytes_are_here_counts_without_being_transferred(hub: HubServer) -> None:
    last()
    folder = find_folder(SPEC.target)
    assert folder is not None
    (folder / "model.safetensors").unlink()
    assert not installed(SPEC)

    progress = last()

    assert progress.transferred_bytes == 0
    assert progress.done_bytes == progress.total_bytes > 0


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


def test_a_killed_download_process_is_said(hub: HubServer, home: Path) -> None:
    hub.stall_after["model.safetensors"] = 0
    pulling = pull(SPEC)
    next(pulling)
    _kill_children()

    with pytest.raises(DownloadFailed, match="ended unexpectedly.*signal 9"):
        list(pulling)


def test_tokenizers_that_do_not_fit_are_refused_before_any_weights(hub: HubServer, home: Path) -> None:
    make_tokenizer(home / "made/draft", text=("entirely other words " * 30,))
    hub.models["org/draft"].files = files_of(home / "made/draft")

    with pytest.raises(IncompatibleTokenizers, match=r"id \d+ is .* to the target and .* to the draft"):
        last()

    assert "model.safetensors" not in hub.downloads()


@pytest.mark.parametrize("draft", [Source("org/draft"), None])
def test_a_tokenizer_that_cannot_be_read_is_refused_before_any_weights(
    hub: HubServer, draft: Source | None
) -> None:
    for model in hub.models.values():
        model.files["tokenizer.json"] = b"{}"

    with pytest.raises(BrokenFiles, match=r"org/target cannot be used: The tokenizer in .* cannot be read"):
        last(PairSpec("tiny", Source("org/target"), draft))

    assert "model.safetensors" not in hub.downloads()


def test_a_repository_without_safetensors_is_refused(hub: HubServer) -> None:
    files = hub.models["org/target"].files
    files["model.Q4.gguf"] = files.pop("model.safetensors")

    with pytest.raises(UnsupportedFormat, match=r"holds no model\*\.safetensors \(it has model\.Q4\.gguf\)"):
        last()

    assert hub.downloads() == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (b'{"model_type": "telepathy"}', "type 'telepathy', which mlx-lm does not know"),
        (b'{"model_type": "llama", "model_file": "mine.py"}', "needs its own Python code"),
    ],
)
def test_a_model_that_cannot_run_is_refused_before_its_weights(
    hub: HubServer, config: bytes, said: str
) -> None:
    hub.models["org/target"].files["config.json"] = config

    with pytest.raises(UnsupportedFormat, match=said):
        last()

    assert "model.safetensors" not in hub.downloads()


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
