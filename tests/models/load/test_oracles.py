"""Heads written by the packages that publish such heads guess here what they guess there.

They need PyTorch and are not in the lock: MLX_SPEC_ORACLE names a Python that has them (docs/drafters.md).
"""

import os
import subprocess
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.dflash_head import DFlashHead
from models.load.dflash import load_dflash
from models.load.eagle import load_eagle
from models.pairs.folder import check_drafter
from tests.mlx_spec.heads import shuffled, states_of, target

ORACLE = os.environ.get("MLX_SPEC_ORACLE")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ORACLE, reason="MLX_SPEC_ORACLE names no Python")]
TEXT = shuffled(3, 15)
"""All but its last token was read by the target."""


@pytest.mark.parametrize(("script", "count"), [("of_speculators.py", 13), ("of_dflash.py", 6)])
def test_logits_are_those_of_the_package(script: str, count: int, tmp_path: Path) -> None:
    assert ORACLE
    np.save(tmp_path / "ids.npy", np.array(TEXT))
    np.save(tmp_path / "embedding.npy", np.array(target().model.embed_tokens.weight))  # type: ignore[union-attr]
    states = states_of(TEXT[:-1])
    np.save(tmp_path / "taps.npy", np.concatenate([np.array(x[0]) for x in states], axis=-1))
    subprocess.run([ORACLE, str(Path(__file__).parent / "oracles" / script), str(tmp_path)], check=True)
    folders = [folder for folder in tmp_path.iterdir() if folder.is_dir()]
    assert len(folders) == count
    for folder in folders:
        wanted = np.load(folder / "logits.npy")
        found = (
            eagle(folder, states) if check_drafter(folder) == "eagle" else block(folder, states, len(wanted))
        )
        assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max(), folder.name


def eagle(folder: Path, states: list[mx.array]) -> np.ndarray:
    head = load_eagle(folder, target(), {}).head
    return np.array(head.guesses(head(mx.array([TEXT[1:]]), hidden=head.features(states)))[0])


def block(folder: Path, states: list[mx.array], rows: int) -> np.ndarray:
    """The text in two passes, the second with the block."""
    drafter = load_dflash(folder, target(), {})
    features, cut = drafter.head.features(states), 7
    drafter.cached.forward(Pass(mx.array([TEXT[1 : 1 + cut]]), Length.exact(0), hidden=features[:, :cut]))
    ids = TEXT[1 + cut :] + [TEXT[-1]] + [drafter.head.shape.mask] * (rows - 1)
    output = drafter.cached.forward(Pass(mx.array([ids]), Length.exact(cut), hidden=features[:, cut:]))
    if (folder / "path.npy").exists():
        assert walked(drafter.head, output.logits[:, 1:]) == np.load(folder / "path.npy").tolist()
    return np.array(drafter.head.guesses(output.logits)[0])


def walked(head: DFlashHead, rows: mx.array) -> list[int]:
    """The best token of each place after the best of the place before."""
    path = [TEXT[-1]]
    for i in range(rows.shape[1]):
        guesses = head.guesses(rows)[:, i]
        path.append(int(mx.argmax(head.after(mx.array(path[-1:]), guesses, rows[:, i]))))
    return path[1:]
