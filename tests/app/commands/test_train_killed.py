"""A training killed at any point leaves no half-written file in use, and the same command finishes it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from app.cli import main
from models.files import locked
from models.pairs.own_drafters import own_drafters
from models.pairs.pair import Source
from models.paths import own_drafters_folder
from models.training.fitting import Fitting
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair
from tests.mlx_spec.grid import grid

pytestmark = pytest.mark.usefixtures("quick_training")


class Killed(BaseException):
    """Stands for a kill: no handler catches it."""


def train(pair: TinyPair, kind: str) -> int:
    return main(["train", str(pair.target), "--kind", kind])


def unfinished(pair: TinyPair, kind: str) -> Path:
    (folder,) = (own_drafters_folder() / pair.target.name).glob(f".{kind}-*")
    return folder


def check_made(pair: TinyPair, kind: str) -> None:
    found, trouble = own_drafters(Source(str(pair.target)))
    folder = own_drafters_folder() / pair.target.name
    assert found == {kind: folder / kind} and not trouble
    assert {each.name for each in folder.iterdir()} == {kind, unfinished(pair, kind).name}
    config = json.loads((folder / kind / "config.json").read_text())
    assert config["mlx_spec"]["tokens"] == 180
    given = ["generate", "--target", str(pair.target), "--draft", "none", "--drafter", kind]
    assert main([*given, "--prompt", "abc", "--max-tokens", "8"]) == 0


def killed_at(name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Cut the second file (the first of a `model`) with this in its name, and raise Killed."""
    honest, seen = mx.save_safetensors, []

    def save(file: str, *rest: Any) -> None:
        honest(file, *rest)
        if name in Path(file).name:
            seen.append(file)
            if len(seen) == (1 if name == "model" else 2):
                Path(file).write_bytes(Path(file).read_bytes()[:100])
                raise Killed

    monkeypatch.setattr(mx, "save_safetensors", save)
    return lambda: bool(seen)


@pytest.mark.parametrize(
    ("kind", "phase"),
    grid(
        ("eagle", "model"),
        ("texts", "fit", "model"),
        usual=[("eagle", "texts"), ("eagle", "fit"), ("model", "model")],
    ),
)
def test_a_cut_file_is_not_used(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, kind: str, phase: str
) -> None:
    with monkeypatch.context() as patch:
        reached = killed_at(phase, patch)
        with pytest.raises(Killed):
            train(tiny_pair, kind)
        assert reached()
    assert own_drafters(Source(str(tiny_pair.target))) == ({}, [])
    assert train(tiny_pair, kind) == 0
    check_made(tiny_pair, kind)


def test_a_damaged_file_is_named_and_training_goes_on_without_it(tiny_pair: TinyPair, run: Cli) -> None:
    train = ["train", str(tiny_pair.target), "--kind", "eagle"]
    run(*train)
    folder = unfinished(tiny_pair, "eagle")
    others = {file.name: file.read_bytes() for file in folder.glob("texts-*")}
    for name in {file.name for file in folder.iterdir()} - others.keys() | {"texts-00001.safetensors"}:
        (folder / name).write_bytes((folder / name).read_bytes()[:100])
        said = run(*train, code=3).err
        assert f"{name} in {folder} " in said and "Delete it, and the same" in said
        (folder / name).unlink()
    run(*train)
    check_made(tiny_pair, "eagle")
    del others["texts-00001.safetensors"]
    assert all((folder / name).read_bytes() == body for name, body in others.items())


def test_weights_of_an_older_version_without_their_tokens_are_named_before_more_texts_are_read(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    train = ["train", str(tiny_pair.target), "--kind", "eagle"]
    run(*train)
    state = unfinished(tiny_pair, "eagle") / "fit.safetensors"
    arrays, notes = mx.load(str(state), return_metadata=True)  # type: ignore[misc]
    arrays.pop("tokens")  # type: ignore[union-attr, call-arg]
    mx.save_safetensors(str(state), arrays, notes)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(Fitting, "_read", lambda *_: pytest.fail("it began"))
        for more in ([], ["--dry-run"]):
            said = run(*train, *more, code=3).err
            assert f"fit.safetensors in {state.parent} is of another version" in said
            assert "Delete it, and the same command goes on" in said
    state.unlink()
    run(*train)
    check_made(tiny_pair, "eagle")


def test_a_drafter_keeps_its_tokens_when_it_learns_from_more_texts(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = own_drafters_folder() / tiny_pair.target.name / "eagle" / "model.safetensors"
    monkeypatch.setattr("models.training.fitting.KNOWN", 40)
    known = []
    for tokens in (150, 400):
        monkeypatch.setattr("models.training.fitting.TOKENS", tokens)
        assert train(tiny_pair, "eagle") == 0
        known.append(mx.load(str(made))["d2t"])  # type: ignore[index]
    assert mx.array_equal(*known)


def test_a_second_training_of_a_drafter_at_once_is_refused(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr("models.training.fitting.EPOCHS", 0)
    train = ["train", str(tiny_pair.target), "--kind"]
    run(*train, "eagle")
    with locked(unfinished(tiny_pair, "eagle")):
        assert "Another program is training this drafter" in run(*train, "eagle", code=3).err
        run(*train, "medusa")
    run(*train, "eagle")


def test_a_kill_while_a_drafter_takes_the_place_of_the_old_one_loses_neither(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fitting, "estimate", lambda _: "")  # a dry run is the next one that looks for it
    assert train(tiny_pair, "eagle") == 0
    honest = Path.rename
    for moves in range(3):
        moved: list[Path] = []

        def rename(path: Path, to: Path, moved: list[Path] = moved, moves: int = moves) -> Path:
            if len(moved) == moves:
                raise Killed
            moved.append(path)
            return honest(path, to)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", rename)
            if moves == 2:
                patch.setattr("shutil.rmtree", fails_once_moved(moved))
            with pytest.raises(Killed):
                train(tiny_pair, "eagle")
        assert len(moved) == moves
        assert main(["train", str(tiny_pair.target), "--dry-run"]) == 0
        assert "eagle" in own_drafters(Source(str(tiny_pair.target)))[0], "the old one or the new one"
    assert train(tiny_pair, "eagle") == 0
    check_made(tiny_pair, "eagle")


def fails_once_moved(moved: list[Path]) -> Callable[..., None]:
    honest = shutil.rmtree

    def rmtree(*given: Any, **named: Any) -> None:
        if len(moved) == 2:
            raise Killed
        honest(*given, **named)

    return rmtree
