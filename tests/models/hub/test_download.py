"""Pulling, against a Hub on a local port: real sockets, the real library, real (tiny) models."""

from pathlib import Path

import pytest

from models.hub.download import check, pull
from models.hub.removal import remove
from models.load.engine import load
from models.pairs.installed import find_folder, installed, is_installed, repository_folder
from models.pairs.pair import PairSpec, Source
from tests.models.hub.pulling import SPEC, last
from tests.models.hub_server import OLD, HubServer


def test_a_pull_brings_what_mlx_lm_reads_of_both_models_small_files_first(hub: HubServer) -> None:
    heavy = ("pytorch_model.bin", "q4.gguf", "consolidated.pth", "evil.py", "original/model.safetensors")
    hub.models["org/target"].files |= {name: b"x" * 1000 for name in (*heavy, "README.md")}

    seen = list(pull(SPEC))

    end = seen[-1]
    assert end.phase == "done" and end.fraction == 1.0
    assert end.done_bytes == end.total_bytes
    assert end.transferred_bytes == hub.sent_bytes == end.total_bytes > 0
    fractions = [progress.fraction for progress in seen]
    assert fractions == sorted(fractions) and max(fractions[:-1]) < 1
    needed = {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    assert set(hub.downloads()) == needed
    requests = 2 + 2 * len(needed) + 1
    assert len(hub.requests) == 2 * requests, "revision, tree, HEAD and GET per file, a redirected GET"
    weights = [name.endswith(".safetensors") for name in hub.downloads()]
    assert weights == sorted(weights)
    assert [drafter.name for drafter in load(SPEC).engine.drafters] == ["lookup", "model"]


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_second_pull_transfers_nothing_though_the_branch_moves_and_works_offline(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    last()
    before = find_folder(SPEC.target)
    hub.models["org/target"].commits["main"] = OLD
    hub.requests.clear()

    assert last().transferred_bytes == 0
    assert hub.requests == [] and find_folder(SPEC.target) == before

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert last().phase == "done"


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_revision_is_fetched_at_its_commit_though_our_own_folder_cannot_be_written(
    hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.models["org/target"].commits["v1"] = OLD
    spec = PairSpec("tiny", Source("org/target", "v1"), None)
    (home / "file").write_text("not by its mode, which root may ignore")
    monkeypatch.setenv("MLX_SPEC_HOME", str(home / "file"))

    assert last(spec).phase == "done"
    assert installed(spec)
    folder = find_folder(spec.target)
    assert folder is not None and folder.name == OLD
    assert not is_installed(Source("org/target")), "another revision is another model"


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_disk_without_links_holds_every_file_once_and_an_empty_setting_of_the_cache_is_none(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    monkeypatch.setenv("HF_HUB_CACHE", "")

    end = last()

    assert installed(SPEC)
    files = [file for s in SPEC.sources for file in repository_folder(s.repo).rglob("*") if file.is_file()]
    assert end.total_bytes <= sum(file.stat().st_size for file in files) < end.total_bytes + 200, (
        "and the refs"
    )
    assert last().transferred_bytes == 0
    assert remove(SPEC).freed_bytes == end.total_bytes
    assert not repository_folder("org/target").exists()


@pytest.mark.usefixtures("quick_tokenizers")
def test_checking_a_pair_fetches_its_small_files_alone(hub: HubServer) -> None:
    *_, progress = check(SPEC)

    assert progress.phase == "done" and progress.total_bytes > 0
    assert "model.safetensors" not in hub.downloads() and "tokenizer.json" in hub.downloads()
    assert not installed(SPEC)
