"""The command line's messages for broken folders of heads, layer_skip drafters and draft models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from app.cli import main
from tests.models.drafter_folders import LAYER_SKIP, edit_config, edit_tensors, make_drafter, make_eagle
from tests.models.tiny_models import make_model, make_pair

TAPS = "eagle_aux_hidden_state_layer_ids"
Refused = Callable[..., str]


@pytest.fixture
def pair(home: Path) -> tuple[Path, Path]:
    return make_pair(home)


@pytest.fixture
def head(pair: tuple[Path, Path], home: Path) -> Path:
    return make_eagle(home / "head", pair[0], range(0, 384, 3))


@pytest.fixture
def refused(pair: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> Refused:
    """Check that a drafter ends `generate` with this exit code; its message."""

    def refused(drafter: Path, code: int, target: Path = pair[0]) -> str:
        given = ["--target", str(target), "--drafter", str(drafter), "--prompt", "x", "--max-tokens", "4"]
        assert main(["generate", *given]) == code
        said = capfd.readouterr().err
        assert "Traceback" not in said and str(drafter) in said
        return said

    return refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("midlayer.mlp.up_proj.weight"), "Missing 1 parameters"),
        (lambda t: t.pop("d2t"), "names no 'd2t'"),
        (lambda t: t.update({"more.weight": mx.zeros(3)}), "1 parameters not in model"),
        (lambda t: t.update({"fc.weight": mx.zeros((4, 4))}), "fc.weight"),
        (lambda t: t.update(d2t=t["d2t"] + 300), "token 384, and the target has 384"),
        (lambda t: t.update(d2t=t["d2t"] - 1), "token -1"),
        (lambda t: t.update(d2t=mx.where(mx.arange(128) == 4, 7, 0)), "d2t names token 5 after a later one"),
        (lambda t: t.update(d2t=t["d2t"].astype(mx.float32) + 0.5), "d2t"),
        (lambda t: t.update(d2t=t["d2t"][:9]), "lm_head"),
    ],
)
def test_tensors_that_are_not_a_heads_are_named(
    refused: Refused, head: Path, change: Any, message: str
) -> None:
    assert message in refused(edit_tensors(head, change), 3)


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"hidden_size": None}, 3, "its hidden_size is None. Train or fetch it again"),
        ({"hidden_size": "wide"}, 3, "its hidden_size is 'wide'"),
        ({"num_attention_heads": 0}, 3, "its num_attention_heads is 0"),
        ({"eagle_config": 3}, 3, "is damaged: "),
        ({"eagle_config": {TAPS: ["low"]}}, 3, "layer_ids are ['low']"),
        ({"eagle_config": {TAPS: [0]}}, 3, "fc.weight"),
        ({"eagle_config": {TAPS: [0, 2]}}, 2, "reads layer 2, and the target has 2 layers"),
        ({"quantization": 8}, 2, "quantization that is no object: 8"),
        ({"rope_scaling": {"rope_type": "odd"}}, 3, "odd"),
    ],
)
def test_a_head_with_an_odd_config_is_refused_with_its_value(
    refused: Refused, head: Path, changes: dict[str, Any], code: int, message: str
) -> None:
    assert message in refused(edit_config(head, **changes), code)


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"layers": [0, 7]}, 2, "A drafter keeps layers [0, 7] of a target that has 2"),
        ({"layers": []}, 2, "A drafter keeps layers [] of a target"),
        ({"layers": [0, 1]}, 2, "A drafter keeps layers [0, 1] of a target that has 2"),
        ({"layers": [-1]}, 2, "A drafter keeps layers [-1] of a target"),
        ({"layers": [[0]]}, 3, "does not tell which layers to keep"),
        ({"layers": "0"}, 2, "tells no kind of drafter"),
        ({"layers": None}, 2, "tells no kind of drafter"),
        *(
            ({"acceptance": odd}, 3, "does not tell which layers to keep")
            for odd in ([7], [1.5], [], 0.5, "high")
        ),
    ],
)
def test_layers_that_cannot_be_kept_are_refused(
    refused: Refused, home: Path, changes: dict[str, Any], code: int, message: str
) -> None:
    assert message in refused(edit_config(make_drafter(home / "few", LAYER_SKIP), **changes), code)


def of_another_size(folder: Path) -> None:
    config = (folder / "config.json").read_text()
    make_model(folder, hidden_size=48, num_hidden_layers=1)
    (folder / "config.json").write_text(config)


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-3])


@pytest.mark.parametrize(
    ("damage", "code", "message"),
    [
        (
            lambda draft: edit_tensors(draft, lambda t: t.pop("model.norm.weight")),
            3,
            "do not belong to its config.json: Missing 1 parameters",
        ),
        (cut, 3, "is damaged: it has"),
        (lambda draft: edit_config(draft, model_type="telepathy"), 2, "telepathy"),
        (of_another_size, 3, "do not belong to its config.json"),
    ],
)
def test_a_draft_model_that_is_damaged_or_foreign_is_refused(
    refused: Refused, pair: tuple[Path, Path], damage: Any, code: int, message: str
) -> None:
    damage(pair[1])
    assert message in refused(pair[1], code)
