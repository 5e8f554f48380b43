"""Files that arrive damaged, or are damaged after they came."""

from collections.abc import Callable

import pytest

from models.errors import (
    AccessNeeded,
    BrokenFiles,
    NotInstalled,
)
from models.pairs.installed import find_folder, installed, installed_folder
from models.pairs.pair import PairSpec, Source
from tests.models.hub.pulling import SPEC, last
from tests.models.hub_server import OLD, HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


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


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("tokenizer.json", b""),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b'{"version": "1.0", "trunc'),
        ("tokenizer_config.json", b"{"),
        ("tokenizer_config.json", b"[" * 100_000),
    ],
    ids=["nothing", "another", "cut", "half", "deep"],
)
def test_a_tokenizer_damaged_after_a_pull_is_fetched_again(hub: HubServer, name: str, damage: bytes) -> None:
    last()
    folder = find_folder(SPEC.target)
    assert folder is not None
    whole = (folder / name).read_bytes()
    (folder / name).resolve().write_bytes(damage)
    assert not installed(SPEC)
    with pytest.raises(NotInstalled, match=rf"org/target is not whole here: {name} .* Fix it with: "):
        installed_folder(SPEC.target, SPEC)
    hub.requests.clear()

    assert last().phase == "done"
    assert installed(SPEC) and (folder / name).read_bytes() == whole
    assert hub.downloads() == [name]


def test_a_file_that_is_discarded_leaves_no_link_to_nothing_in_another_revision(hub: HubServer) -> None:
    hub.models["org/target"].commits["old"] = OLD
    new, old = (PairSpec("tiny", Source("org/target", revision), None) for revision in (None, "old"))
    last(new)
    last(old)
    folders = [find_folder(spec.target) for spec in (new, old)]
    assert folders[0] and folders[1] and folders[0] != folders[1]
    blob = (folders[0] / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:1000])
    hub.models["org/target"].gated = True

    with pytest.raises(AccessNeeded):
        last(new)

    assert all(path.exists() for folder in folders if folder for path in folder.iterdir())
    hub.models["org/target"].gated = False
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
