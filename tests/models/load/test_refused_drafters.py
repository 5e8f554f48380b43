"""Broken folders of heads, layer_skip drafters and draft models are refused in a sentence."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import mlx.core as mx
import pytest

from app.cli import main
from models.errors import BadChoice, BrokenFiles, ModelsError
from models.load.engine import load
from models.pairs.resolve import resolve
from tests.models.drafter_folders import LAYER_SKIP, edit_config, edit_tensors, make_drafter, make_eagle
from tests.models.tiny_models import make_model, make_pair

TAPS = "eagle_aux_hidden_state_layer_ids"
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of a target, and of a drafter of each kind: `draft`, `head` and `few` layers."""
    home = tmp_path_factory.mktemp("made")
    target, _ = make_pair(home)
    make_eagle(home / "head", target, range(0, 384, 3))
    make_drafter(home / "few", LAYER_SKIP)
    return home


@pytest.fixture
def folders(made: Path, home: Path) -> Path:
    return copytree(made, home, dirs_exist_ok=True)


def config(**changes: Any) -> Damage:
    return lambda folder: edit_config(folder, **changes)


def tensors(change: Callable[[dict[str, mx.array]], object]) -> Damage:
    return lambda folder: edit_tensors(folder, change)


def of_another_size(folder: Path) -> None:
    config = (folder / "config.json").read_text()
    make_model(folder, hidden_size=48, num_hidden_layers=1)
    (folder / "config.json").write_text(config)


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-3])


NO_LAYERS = "does not tell which layers to keep"
CASES: list[tuple[str, Damage, type[ModelsError], str]] = [
    ("head", tensors(lambda t: t.pop("midlayer.mlp.up_proj.weight")), BrokenFiles, "Missing 1 parameters"),
    ("head", tensors(lambda t: t.pop("d2t")), BrokenFiles, "names no 'd2t'"),
    ("head", tensors(lambda t: t.update(more=mx.zeros(3))), BrokenFiles, "1 parameters not in model"),
    ("head", tensors(lambda t: t.update({"fc.weight": mx.zeros((4, 4))})), BrokenFiles, "fc.weight"),
    ("head", tensors(lambda t: t.update({"midlayer.mlp.up_proj.bias": mx.zeros(3)})), BrokenFiles,
     "midlayer.mlp.up_proj.bias"),
    ("head", tensors(lambda t: t.update(d2t=t["d2t"] + 300)), BrokenFiles,
     "token 384, and the target has 384"),
    ("head", tensors(lambda t: t.update(d2t=t["d2t"] - 1)), BrokenFiles, "token -1"),
    *(
        (
            "head",
            tensors(lambda t, more=more: t.update(d2t=mx.where(mx.arange(128) == 4, more, 0))),
            BrokenFiles,
            "d2t is not ascending at token 5",
        )
        for more in (1, 7)
    ),
    ("head", tensors(lambda t: t.update(d2t=t["d2t"].astype(mx.float32) + 0.5)), BrokenFiles, "d2t"),
    ("head", tensors(lambda t: t.update(d2t=t["d2t"][:9])), BrokenFiles, "lm_head"),
    ("head", config(hidden_size=None), BrokenFiles, "its hidden_size is None. Train or download it again"),
    ("head", config(hidden_size="wide"), BrokenFiles, "its hidden_size is 'wide'"),
    ("head", config(num_attention_heads=0), BrokenFiles, "its num_attention_heads is 0"),
    ("head", config(eagle_config=3), BrokenFiles, "is damaged: "),
    ("head", config(eagle_config={TAPS: ["low"]}), BrokenFiles, "layer_ids are ['low']"),
    ("head", config(eagle_config={TAPS: [0]}), BrokenFiles, "fc.weight"),
    ("head", config(eagle_config={TAPS: [0, 2]}), BadChoice, "reads layer 2, and the target has 2 layers"),
    ("head", config(quantization=8), BadChoice, "quantization that is not an object: 8"),
    ("head", config(rope_theta="10000"), BrokenFiles, "its rope_theta is '10000'"),
    ("head", config(rope_scaling={"rope_type": "odd"}), BrokenFiles, "odd"),
    ("few", config(layers=[0, 7]), BadChoice, "A drafter keeps layers [0, 7] of a target that has 2"),
    ("few", config(layers=[]), BadChoice, "A drafter keeps layers [] of a target"),
    ("few", config(layers=[0, 1]), BadChoice, "A drafter keeps layers [0, 1] of a target that has 2"),
    ("few", config(layers=[-1]), BadChoice, "A drafter keeps layers [-1] of a target"),
    ("few", config(layers=[[0]]), BrokenFiles, NO_LAYERS),
    ("few", config(layers="0"), BadChoice, "tells no kind of drafter"),
    *(("few", config(acceptance=odd), BrokenFiles, NO_LAYERS) for odd in ([-0.5], [1.5], [], 0.5, "high")),
    ("draft", tensors(lambda t: t.pop("model.norm.weight")), BrokenFiles,
     "do not belong to its config.json: Missing 1 parameters"),
    ("draft", config(num_hidden_layers=200), BrokenFiles, "names 200 layers, and its weights are 11 tensors"),
    ("draft", cut, BrokenFiles, "is damaged: it has"),
    ("draft", config(model_type="telepathy"), BadChoice, "telepathy"),
    ("draft", of_another_size, BrokenFiles, "do not belong to its config.json"),
]  # fmt: skip


@pytest.mark.parametrize(("which", "damage", "error", "message"), CASES, ids=[case[-1] for case in CASES])
def test_a_broken_drafter_is_refused_by_its_folder_with_what_is_wrong(
    folders: Path, which: str, damage: Damage, error: type[ModelsError], message: str
) -> None:
    damage(folders / which)
    with pytest.raises(error) as refused:
        load(resolve(target=str(folders / "target"), drafters=[str(folders / which)]))
    assert message in str(refused.value) and str(folders / which) in str(refused.value)


@pytest.mark.parametrize("which", ["target", "draft"])
def test_a_truncated_folder_of_a_persons_own_is_to_be_fetched_again(folders: Path, which: str) -> None:
    cut(folders / which)
    with pytest.raises(BrokenFiles, match=r"is damaged: it has .* bytes, .*\. Download it again\.$"):
        load(resolve(target=str(folders / "target"), draft=str(folders / "draft")))


def test_bits_without_a_head_are_refused(folders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = ["--target", str(folders / "target"), "--prompt", "x", "--max-tokens", "4", "--drafter-bits", "4"]
    for drafter in ([], ["--drafter", str(folders / "few")], ["--draft", str(folders / "draft")]):
        assert main(["generate", *given, *drafter]) == 2
        assert "--drafter-bits 4 needs a head, and target has none." in capfd.readouterr().err
    assert main(["generate", *given, "--drafter", str(folders / "head")]) == 0
