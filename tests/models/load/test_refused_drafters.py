"""The command line's messages for broken folders of layer_skip drafters and draft models."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from tests.models.drafter_folders import LAYER_SKIP, edit_config, edit_tensors, make_drafter
from tests.models.tiny_models import make_model, make_pair


@pytest.fixture
def pair(home: Path) -> tuple[Path, Path]:
    return make_pair(home)


def refusal(target: Path, drafter: Path, capfd: pytest.CaptureFixture[str], code: int) -> str:
    given = ["--target", str(target), "--drafter", str(drafter), "--prompt", "x", "--max-tokens", "4"]
    assert main(["generate", *given]) == code
    said = capfd.readouterr().err
    assert "Traceback" not in said
    return said


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
    pair: tuple[Path, Path],
    home: Path,
    capfd: pytest.CaptureFixture[str],
    changes: Any,
    code: int,
    message: str,
) -> None:
    folder = edit_config(make_drafter(home / "few", LAYER_SKIP), **changes)
    assert message in refusal(pair[0], folder, capfd, code)


def drop_a_tensor(folder: Path) -> None:
    edit_tensors(folder, lambda tensors: tensors.pop("model.norm.weight"))


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-3])


def of_an_unknown_kind(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "telepathy"}))


def of_another_size(folder: Path) -> None:
    config = (folder / "config.json").read_text()
    make_model(folder, hidden_size=48, num_hidden_layers=1)
    (folder / "config.json").write_text(config)


@pytest.mark.parametrize(
    ("damage", "code", "message"),
    [
        (drop_a_tensor, 3, "do not belong to its config.json: Missing 1 parameters"),
        (cut, 3, "is damaged: it has"),
        (of_an_unknown_kind, 2, "telepathy"),
        (of_another_size, 3, "do not belong to its config.json"),
    ],
)
def test_a_draft_model_that_is_damaged_or_foreign_is_refused(
    pair: tuple[Path, Path], capfd: pytest.CaptureFixture[str], damage: Any, code: int, message: str
) -> None:
    damage(pair[1])
    assert message in refusal(pair[0], pair[1], capfd, code)
