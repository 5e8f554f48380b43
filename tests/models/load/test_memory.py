"""Memory of models and drafters is checked before loading, and reported after it."""

from pathlib import Path

import pytest
from mlx_lm.utils import load_model

from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape
from models.errors import MachineTrouble
from models.load import engine
from models.load.checkpoint import Checkpoint
from models.load.engine import LoadedPair, check_memory, load, weight_bytes
from models.load.medusa import save_medusa
from models.pairs.folder import check_folder
from models.pairs.resolve import resolve
from models.paths import own_drafters_folder
from tests.models.drafter_folders import LAYER_SKIP, make_drafter, make_eagle
from tests.models.tiny_models import make_pair


def room(monkeypatch: pytest.MonkeyPatch, *folders: Path, less: int = 0) -> None:
    """Memory for exactly these weights."""
    needed = sum(Checkpoint(folder, folder).weight_bytes() for folder in folders)
    monkeypatch.setattr(engine, "capacity", lambda: needed - less)


def alone(target: Path, *drafters: Path) -> LoadedPair:
    return load(resolve(target=str(target), draft="none", drafters=[str(folder) for folder in drafters]))


def test_a_named_drafter_is_counted_with_the_models(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, _ = make_pair(home)
    head, few = make_eagle(home / "head", target, range(200)), make_drafter(home / "few", LAYER_SKIP)
    room(monkeypatch, target, head)
    assert "eagle" in alone(target, head, few).engine.drafter_names
    room(monkeypatch, target, head, less=1)
    with pytest.raises(MachineTrouble, match=r"The weights need .* of memory.*, and .* can be used"):
        alone(target, head, few)


def test_an_own_drafter_for_which_there_is_no_room_is_left_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, _ = make_pair(home)
    head = make_eagle(own_drafters_folder() / "target" / "eagle", target, range(200))
    room(monkeypatch, target, head)
    assert not alone(target).notes
    room(monkeypatch, target, head, less=1)
    loaded = alone(target)
    assert "eagle" not in loaded.engine.drafter_names
    assert (
        f"The drafter in {head} is left out: it needs " in loaded.notes[0] and "are left" in loaded.notes[0]
    )


def test_memory_in_use_is_that_of_all_weights_each_once(home: Path) -> None:
    target, _ = make_pair(home)
    plain = alone(target).memory_bytes
    assert alone(target, make_drafter(home / "few", LAYER_SKIP)).memory_bytes == plain
    headed = alone(target, make_eagle(home / "head", target, range(200)))
    (head,) = [each for each in headed.engine.drafters if each.name == "eagle"]
    assert headed.memory_bytes == plain + weight_bytes([head.models[0].model]) > plain
    model, _ = load_model(target)
    heads = MedusaHead(MedusaShape(2, 1, 32, 384, tuple(range(384))), model)
    (home / "medusa").mkdir()
    save_medusa(home / "medusa", heads, {})
    assert alone(target, home / "medusa").memory_bytes == plain + weight_bytes([heads])


def test_weights_larger_than_memory_are_refused_with_both_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = make_pair(tmp_path)
    needed = sum(check_folder(folder) for folder in pair)
    files = [Checkpoint(folder, folder) for folder in pair]
    monkeypatch.setattr(engine, "capacity", lambda: needed)
    assert check_memory(files) == 0
    monkeypatch.setattr(engine, "capacity", lambda: needed - 1)
    with pytest.raises(MachineTrouble, match=r"need 222\.2 kB of memory.*, and 222\.2 kB can be used"):
        check_memory(files)
