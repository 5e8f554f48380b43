"""`pull` and `remove` on the command line, against a Hub on a local port."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import main
from app.commands import pull
from app.shell.output import Progress
from models.pairs.catalogue import all_pairs, find
from models.pairs.own_pairs import add_own
from models.pairs.pair import Source
from models.speed.fit import fit
from tests.models.conftest import own_home, read_tokenizers_quickly
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_pair

PAIR = ["--target", "org/target", "--draft", "org/draft"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Serves org/target and org/draft to processes with their own home folder."""
    own_home(tmp_path, monkeypatch)
    target, draft = make_pair(tmp_path / "made")
    hosted = {"org/target": HostedModel(files_of(target)), "org/draft": HostedModel(files_of(draft))}
    with HubServer(hosted) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def quick_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    read_tokenizers_quickly(monkeypatch)


def test_a_pulled_pair_answers_and_can_be_removed(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def seen_on_its_way(size: int, line: Progress) -> None:
        honest(size, line)
        hub.stall_after.clear()

    honest, hub.stall_after["model.safetensors"] = pull._print_too_large, 0
    with monkeypatch.context() as patch:
        patch.setattr(pull, "_print_too_large", seen_on_its_way)
        read_tokenizers_quickly(patch)
        patch.setattr("models.speed.machine._memory", lambda: (1000, True))
        assert main(["pull", *PAIR]) == 0
    out, err = capfd.readouterr()
    assert out == "" and "downloaded" in err
    assert err.count("Does not fit here: ") == 1 and "1.0 kB of memory can be used" in err
    assert main(["generate", *PAIR, "--prompt", "x", "--max-tokens", "4", "--draft-length", "2"]) == 0
    assert main(["remove", *PAIR]) == 2
    assert "--yes" in capfd.readouterr().err
    assert main(["remove", *PAIR, "--yes", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["freed_bytes"] > 0
    assert main(["generate", *PAIR, "--prompt", "x"]) == 2
    assert "mlx-spec pull --target org/target --draft org/draft" in capfd.readouterr().err


def test_a_disk_that_is_full_is_told_by_the_pull_alone(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("models.speed.machine._memory", lambda: (10**12, True))
    monkeypatch.setattr("models.speed.machine.free_disk", lambda folder: 0)
    assert "of disk are free" in fit(find("smollm2-1.7b")).why
    assert main(["pull", "smollm2-1.7b"]) == 2, "this Hub has not got it"
    assert "Does not fit here" not in capfd.readouterr().err


@pytest.mark.parametrize("files_are_there", [True, False])
def test_a_pair_of_ones_own_folders_leaves_the_list_and_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], files_are_there: bool
) -> None:
    own_home(tmp_path, monkeypatch)
    target = tmp_path / "target"
    if files_are_there:
        target, _ = make_pair(tmp_path)
    mine = replace(all_pairs()[1], name="mine", target=Source(str(target)), draft=None, own=True)
    add_own(mine)
    add_own(replace(mine, name="other", target=Source("org/other")))
    assert main(["remove", "mine", "--yes"]) == 0
    assert "mine was removed." in capfd.readouterr().out and target.exists() == files_are_there
    assert [pair.name for pair in all_pairs() if pair.own] == ["other"]
    assert main(["remove", "mine", "--yes"]) == 2


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_hub_that_fails_is_exit_code_3_and_a_repository_that_is_not_there_2(
    hub: HubServer, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["pull", "--target", "org/absent", "--draft", "none"]) == 2
    assert "org/absent" in capfd.readouterr().err
    hub.status = 503
    assert main(["pull", *PAIR]) == 3
    err = capfd.readouterr().err
    assert 1 <= len(err.strip().splitlines()) <= 3 and "Traceback" not in err


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_damaged_folder_is_told_as_what_it_is(
    hub: HubServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    weights = tmp_path / "made" / "target" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    assert main(["pull", "--target", str(weights.parent), "--draft", "org/draft"]) == 3
    err = capfd.readouterr().err
    assert "model.safetensors" in err and "is damaged" in err


@pytest.mark.usefixtures("quick_tokenizers")
def test_ctrl_c_stops_a_pull_with_exit_code_130(hub: HubServer, capfd: pytest.CaptureFixture[str]) -> None:
    hub.stall_after["model.safetensors"] = 0
    ended = threading.Event()

    def press() -> None:
        deadline = time.monotonic() + 60
        while not any(name.endswith("safetensors") for name in hub.downloads()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        ended.wait(20)
        hub.stall_after.clear()

    pressing = threading.Thread(target=press)
    pressing.start()
    assert main(["pull", *PAIR]) == 130
    ended.set()
    pressing.join()
    assert "Traceback" not in capfd.readouterr().err
