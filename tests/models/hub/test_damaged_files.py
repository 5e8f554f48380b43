"""Files that arrive damaged, or are damaged later."""

from pathlib import Path

import pytest

from models.errors import BrokenFiles, MachineTrouble, NotInstalled
from models.hub.repository import HubFile, Repository
from models.pairs.installed import find_folder, installed, installed_folder
from models.pairs.pair import PairSpec, Source
from tests.models import hub_server
from tests.models.hub.pulling import SPEC, last
from tests.models.hub_server import OLD, HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


def folder_of(source: Source) -> Path:
    folder = find_folder(source)
    assert folder is not None
    return folder


@pytest.mark.parametrize(
    ("is_published", "message"),
    [
        (False, "model.safetensors of org/target arrived damaged and was deleted. Pull again"),
        (
            True,
            "model.safetensors of org/target is damaged on the Hub itself and was deleted. Choose another",
        ),
    ],
)
def test_damaged_weights_are_deleted_and_whether_pulling_again_helps_is_told(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, is_published: bool, message: str
) -> None:
    files = hub.models["org/target"].files
    whole, honest = files["model.safetensors"], hub_server.etag
    files["model.safetensors"] = whole[:-100]
    with monkeypatch.context() as patch:
        if not is_published:
            patch.setattr(hub_server, "etag", lambda name, body: honest(name, body[:500]))
        with pytest.raises(BrokenFiles, match=message):
            last()
    assert not installed(SPEC)
    assert not (folder_of(SPEC.target) / "model.safetensors").exists()

    files["model.safetensors"] = whole
    last()
    assert installed(SPEC)


def test_a_small_file_that_arrived_damaged_is_deleted_though_it_can_be_read(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, honest = hub.models["org/draft"].files, hub_server.etag
    whole = files["tokenizer.json"]
    damaged = b'{"model": {"vocab": {"a": 1}}}'.ljust(len(whole))
    files["tokenizer.json"] = damaged
    with monkeypatch.context() as patch:
        patch.setattr(hub_server, "etag", lambda name, body: honest(name, whole if body == damaged else body))
        with pytest.raises(BrokenFiles, match=r"cannot be used: The tokenizer in .*\. Pull again\.$"):
            last()
    files["tokenizer.json"] = whole
    assert last().phase == "done" and installed(SPEC)


def test_small_files_that_were_removed_before_they_were_checked_are_worth_another_pull(home: Path) -> None:
    file = HubFile("tokenizer.json", size=2, blob="a" * 40)
    assert Repository(SPEC.target, OLD, (file,)).discard_unlike()


def test_files_damaged_after_a_pull_are_fetched_again(hub: HubServer) -> None:
    hub.models["org/target"].files["merges.txt"] = b"a b\n"
    last()
    folder = folder_of(SPEC.target)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    weights = before["model.safetensors"]
    damaged = {
        "model.safetensors": [weights[:1000], b"x" * 100 + weights[100:]],
        "tokenizer.json": [b"", b"{}", b'{"version": "1.0", "trunc'],
        "tokenizer_config.json": [b"{", b"[" * 100_000],
    }
    for name, bodies in damaged.items():
        for body in bodies:
            (folder / name).resolve().write_bytes(body)
            assert not installed(SPEC)
            with pytest.raises(
                NotInstalled, match=rf"org/target is incomplete here: {name} .* Fix it with: "
            ):
                installed_folder(SPEC.target, SPEC)
        (folder / name).resolve().write_bytes(before[name])
    for name, bodies in damaged.items():
        (folder / name).resolve().write_bytes(bodies[-1])
    (folder / "merges.txt").resolve().write_bytes(b"")
    hub.requests.clear()

    assert last().phase == "done" and installed(SPEC)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert sorted(hub.downloads()) == sorted([*damaged, "merges.txt"])

    (folder / "model.safetensors").unlink()
    assert not installed(SPEC)
    progress = last()
    assert progress.transferred_bytes == 0, "its content is here"
    assert progress.done_bytes == progress.total_bytes > 0


def test_a_file_elsewhere_that_a_snapshot_links_to_is_not_deleted(hub: HubServer, home: Path) -> None:
    last()
    weights = folder_of(SPEC.target) / "model.safetensors"
    blob, mine = weights.resolve(), home / "mine.safetensors"
    mine.write_bytes(b"a person's own")
    for link in (weights, blob):
        link.unlink()
        link.symlink_to(mine)
        assert not installed(SPEC)
        assert last().phase == "done" and installed(SPEC)
        assert mine.read_bytes() == b"a person's own"


def test_a_file_that_is_discarded_leaves_no_link_to_nothing_in_another_revision(hub: HubServer) -> None:
    hub.models["org/target"].commits["old"] = OLD
    new, old = (PairSpec("tiny", Source("org/target", revision), None) for revision in (None, "old"))
    last(new)
    last(old)
    folders = [folder_of(spec.target) for spec in (new, old)]
    assert folders[0] != folders[1]
    blob = (folders[0] / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:1000])
    hub.models["org/target"].gated = True

    with pytest.raises(MachineTrouble, match="gated"):
        last(new)

    assert all(path.exists() for folder in folders for path in folder.iterdir())
    hub.models["org/target"].gated = False
    last(old)
    assert installed(old)
