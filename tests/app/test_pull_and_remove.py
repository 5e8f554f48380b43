"""`pull` and `remove` on the command line, against a Hub on a local port."""

import io
import json
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from models.pairs.catalogue import all_pairs, find
from models.pairs.own_pairs import add_own
from models.pairs.pair import Source
from models.speed import machine
from models.speed.fit import fit
from models.speed.machine import Machine
from tests.app.run_command import Cli
from tests.models import conftest
from tests.models.hub_server import HubServer
from tests.models.tiny_models import make_pair
from tests.waiting import until

PAIR = ["--target", "org/target", "--draft", "org/draft"]


home, hub, quick_tokenizers = conftest.home, conftest.hub, conftest.quick_tokenizers


def test_a_pulled_pair_answers_and_can_be_removed(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def small_machine() -> Machine:
        """Looked at on the way, as the size is known: the weights come only after that."""
        hub.stall_after.clear()
        return Machine(1000, 10**12, has_metal=True)

    hub.stall_after["model.safetensors"] = 0
    with monkeypatch.context() as patch:
        conftest.read_tokenizers_quickly(patch)
        patch.setattr(machine, "this_machine", small_machine)
        out, err = run("pull", *PAIR)
    assert out == "" and "downloaded" in err
    assert err.count("Does not fit here: ") == 1 and "1.0 kB of memory can be used" in err
    generate = ["generate", *PAIR, "--prompt", "x"]
    run(*generate, "--max-tokens", 4, "--draft-length", 2)
    assert "--yes" in run("remove", *PAIR, code=2).err
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", terminal := io.StringIO("n\n"))
        terminal.isatty = lambda: True
        asked = run("remove", *PAIR, code=1).err
        assert "are freed, which other programs find in the Hub's cache too. [y/N]" in asked
    out, err = run("remove", *PAIR, "--yes", "--json")
    assert json.loads(out)["freed_bytes"] > 0 and "gone from the Hub's cache, for other programs too" in err
    assert "mlx-spec pull --target org/target --draft org/draft" in run(*generate, code=2).err


def test_a_full_disk_is_told_by_pull_alone(hub: HubServer, monkeypatch: pytest.MonkeyPatch, run: Cli) -> None:
    monkeypatch.setattr("models.speed.fit.this_machine", lambda: Machine(10**12, 0, has_metal=True))
    assert "of disk are free" in fit(find("smollm2-1.7b")).why
    err = run("pull smollm2-1.7b", code=2).err  # this Hub has not got it
    assert "Does not fit here" not in err


@pytest.mark.parametrize("files_are_there", [True, False])
def test_a_pair_of_ones_own_folders_leaves_the_list_and_keeps_its_files(
    home: Path, monkeypatch: pytest.MonkeyPatch, run: Cli, files_are_there: bool
) -> None:
    target = home / "target"
    if files_are_there:
        target, _ = make_pair(home)
    mine = replace(all_pairs()[1], name="mine", target=Source(str(target)), draft=None, own=True)
    add_own(mine)
    add_own(replace(mine, name="other", target=Source("org/other")))
    for answer, code, said in (("no", 1, "Nothing was removed."), ("Y", 0, "")):
        terminal = io.StringIO(f"{answer}\n")
        terminal.isatty = lambda: True
        monkeypatch.setattr(sys, "stdin", terminal)
        out, err = run("remove mine", code=code)
        assert "Remove mine from the list? Its files stay. [y/N]" in err and said in err
    assert "mine was removed." in out and target.exists() == files_are_there
    assert [pair.name for pair in all_pairs() if pair.own] == ["other"]
    run("remove mine --yes", code=2)


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_hub_that_fails_is_exit_code_3_and_a_missing_repository_2(hub: HubServer, run: Cli) -> None:
    assert "org/absent" in run("pull --target org/absent --draft none", code=2).err
    assert "should fit" not in run("pull --target org/absent", code=2).err
    alone = "Qwen3-8B-4bit runs without a draft model. --draft mlx-community/Qwen3-0.6B-4bit should fit."
    assert alone in run("pull --target mlx-community/Qwen3-8B-4bit", code=2).err
    hub.status = 503
    err = run("pull", *PAIR, code=3).err
    assert 1 <= len(err.strip().splitlines()) <= 3 and "Traceback" not in err


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_damaged_folder_is_told_as_what_it_is(hub: HubServer, tmp_path: Path, run: Cli) -> None:
    weights = tmp_path / "made" / "target" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    err = run("pull --target", weights.parent, "--draft", "org/draft", code=3).err
    assert "model.safetensors" in err and "is damaged" in err


@pytest.mark.usefixtures("quick_tokenizers")
def test_ctrl_c_stops_a_pull_with_exit_code_130(hub: HubServer, run: Cli) -> None:
    hub.stall_after["model.safetensors"] = 0
    ended = threading.Event()

    def press() -> None:
        until(lambda: any(name.endswith("safetensors") for name in hub.downloads()))
        os.kill(os.getpid(), signal.SIGINT)
        ended.wait(20)
        hub.stall_after.clear()

    pressing = threading.Thread(target=press)
    pressing.start()
    err = run("pull", *PAIR, code=130).err
    ended.set()
    pressing.join()
    assert "Traceback" not in err
