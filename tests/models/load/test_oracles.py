"""Heads saved by the packages that publish them draft the same here as there.

The packages need PyTorch and are not in the lock: MLX_SPEC_ORACLE names a Python that has them
(docs/drafters.md).
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import Engine
from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.dflash_head import DFlashHead
from mlx_spec.drafters.draft_head import embedding_of
from models.load.drafters import LOADERS
from models.pairs.folder import check_drafter
from tests.mlx_spec import assistant_heads
from tests.mlx_spec.heads import shuffled, states_of, target
from tests.mlx_spec.proposals import proposed
from tests.mlx_spec.tiny_models import text
from tests.models.load.test_mtp import target_of

ORACLE = os.environ.get("MLX_SPEC_ORACLE")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ORACLE, reason="MLX_SPEC_ORACLE names no Python")]
TEXT = shuffled(3, 15)
"""The target has read all but its last token."""


@pytest.mark.parametrize(("script", "count"), [("of_speculators.py", 13), ("of_dflash.py", 6)])
def test_logits_are_those_of_the_package(script: str, count: int, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array(TEXT))
    np.save(tmp_path / "embedding.npy", np.array(target().model.embed_tokens.weight))  # type: ignore[union-attr]
    states = states_of(TEXT[:-1])
    np.save(tmp_path / "taps.npy", np.concatenate([np.array(x[0]) for x in states], axis=-1))
    run(script, tmp_path)
    folders = [folder for folder in tmp_path.iterdir() if folder.is_dir()]
    assert len(folders) == count
    for folder in folders:
        wanted = np.load(folder / "logits.npy")
        found = (
            eagle(folder, states) if check_drafter(folder) == "eagle" else block(folder, states, len(wanted))
        )
        assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max(), folder.name


def test_logits_of_an_assistant_are_those_of_transformers(tmp_path: Path) -> None:
    """Three steps at the position of the engines; its masks are of one query, and windows are cut before."""
    model, ids = assistant_heads.target(), shuffled(3, 25)
    first = text(Engine(model, context_limit=400), ids, max_tokens=1)
    hidden, kept = assistant_heads.read(ids)
    given = {"ids": ids + first, "hidden": hidden[0, -1], "embedding": model.model.embed_tokens.weight}
    for kind, (keys, values) in kept.items():
        given |= {f"{kind}_keys": keys, f"{kind}_values": values}
    for name, x in given.items():
        np.save(tmp_path / f"{name}.npy", np.array(x))
    run("of_gemma4.py", tmp_path)
    folders = [folder for folder in tmp_path.iterdir() if folder.is_dir()]
    assert len(folders) == 2
    for folder in folders:
        assert check_drafter(folder) == "assistant"
        wanted = np.load(folder / "logits.npy")
        engine = Engine(model, [LOADERS["assistant"](folder, model, {})], context_limit=400)
        one = proposed(engine, ids, "assistant", max_tokens=12, draft_length=3)[0]
        assert one.before == ids + first
        there = np.isfinite(one.logits)
        assert there.all() or (wanted[~there] < wanted[there].min()).all()
        assert np.abs(one.logits - wanted)[there].max() < 1e-5 * np.abs(wanted).max(), folder.name


def test_rows_of_an_mtp_layer_are_those_of_speculators(tmp_path: Path) -> None:
    model: Any = target_of("qwen3_5")
    hidden = mx.random.normal((len(TEXT), 32), key=mx.random.key(1))
    table = embedding_of(model).weight
    for name, x in {"ids": np.array(TEXT), "hidden": hidden, "embedding": table}.items():
        np.save(tmp_path / f"{name}.npy", np.array(x))
    run("of_mtp.py", tmp_path)
    assert check_drafter(tmp_path / "mtp") == "mtp"
    wanted = np.load(tmp_path / "mtp" / "rows.npy")
    head = LOADERS["mtp"](tmp_path / "mtp", model, {}).head
    found = np.array(head(mx.array([TEXT[1:]]), hidden=hidden[None, :-1])[0])[: len(wanted)]
    assert len(wanted) > 10 and np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()


def run(script: str, folder: Path) -> None:
    assert ORACLE
    subprocess.run([ORACLE, str(Path(__file__).parent / "oracles" / script), str(folder)], check=True)


def eagle(folder: Path, states: list[mx.array]) -> np.ndarray:
    head = LOADERS["eagle"](folder, target(), {}).head
    return np.array(head.guesses(head(mx.array([TEXT[1:]]), hidden=head.features(states)))[0])


def block(folder: Path, states: list[mx.array], rows: int) -> np.ndarray:
    """The text in two passes, the second with the block."""
    drafter = LOADERS["dflash"](folder, target(), {})
    features, cut = drafter.head.features(states), 7
    drafter.cached.forward(Pass(mx.array([TEXT[1 : 1 + cut]]), Length.exact(0), hidden=features[:, :cut]))
    ids = TEXT[1 + cut :] + [TEXT[-1]] + [drafter.head.shape.mask] * (rows - 1)
    output = drafter.cached.forward(Pass(mx.array([ids]), Length.exact(cut), hidden=features[:, cut:]))
    if (folder / "path.npy").exists():
        assert walked(drafter.head, output.logits[:, 1:]) == np.load(folder / "path.npy").tolist()
    return np.array(drafter.head.guesses(output.logits)[0])


def walked(head: DFlashHead, rows: mx.array) -> list[int]:
    """The most likely token of each position after that of the previous one."""
    path = [TEXT[-1]]
    for i in range(rows.shape[1]):
        guesses = head.guesses(rows)[:, i]
        path.append(int(mx.argmax(head.after(mx.array(path[-1:]), guesses, rows[:, i]))))
    return path[1:]
