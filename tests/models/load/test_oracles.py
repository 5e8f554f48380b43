"""Heads saved by the packages that publish them draft the same here as there, over rounds with rejections.

The packages need PyTorch and are not in the lock: MLX_SPEC_ORACLE names a Python that has them
(docs/drafters.md).
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlx_spec import Engine
from mlx_spec.drafters.draft_head import embedding_of, output_layer_of
from models.load.drafters import LOADERS
from models.pairs.folder import check_drafter
from tests.mlx_spec import assistant_heads, heads
from tests.mlx_spec.drafters.learnt import MUTANTS
from tests.mlx_spec.equations import normed
from tests.mlx_spec.proposals import Proposed, proposed
from tests.models.load.mtp_by_hand import last_states
from tests.models.load.test_mtp import target_of

ORACLE = os.environ.get("MLX_SPEC_ORACLE")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ORACLE, reason="MLX_SPEC_ORACLE names no Python")]
TEXT, ROUNDS = heads.shuffled(3, 25), 3


def taps(ids: list[int]) -> dict[str, Any]:
    return {"taps": np.concatenate([np.array(x[0]) for x in heads.states_of(ids)], axis=-1)}


def keys_and_values(ids: list[int]) -> dict[str, Any]:
    """Of the assistants' target; and the last hidden state of its last token."""
    hidden, kept = assistant_heads.read(ids)
    found: dict[str, Any] = {"hidden": hidden[0, -1]}
    for kind, (keys, values) in kept.items():
        found |= {f"{kind}_keys": keys, f"{kind}_values": values}
    return found


def last_rows(ids: list[int]) -> dict[str, Any]:
    """What the target of the MTP layer computes its logits of, `[tokens, dim]`."""
    model = target_of("qwen3_5")
    inner = model.language_model
    hidden = np.array(last_states(model, ids)[0])
    return {"hidden": normed(hidden, np.array(inner.model.norm.weight), inner.args.rms_norm_eps)}


@pytest.mark.parametrize(
    ("script", "count", "target", "read"),
    [
        ("of_speculators.py", 13, heads.target, taps),
        ("of_dflash.py", 6, heads.target, taps),
        ("of_gemma4.py", 2, assistant_heads.target, keys_and_values),
        ("of_mtp.py", 1, lambda: target_of("qwen3_5"), last_rows),
    ],
)
def test_logits_of_rounds_are_those_of_the_package(
    script: str, count: int, target: Callable[[], Any], read: Callable[[list[int]], Any], tmp_path: Path
) -> None:
    """And those of broken drafters are not."""
    model = target()
    np.save(tmp_path / "embedding.npy", np.array(embedding_of(model).weight))
    np.save(tmp_path / "output.npy", np.array(output_layer_of(model).weight))
    run(script, tmp_path)
    folders = [folder for folder in tmp_path.iterdir() if folder.is_dir()]
    assert len(folders) == count
    drafted: dict[Path, list[Proposed]] = {}
    for folder in folders:
        name = check_drafter(folder)
        for broken in (None, *MUTANTS["eagle" if name == "mtp" else name]):
            drafter: Any = LOADERS[name](folder, model := target(), {})
            if broken:
                drafter.__class__ = broken(type(drafter))
            file = folder / (broken.__name__ if broken else "right")
            drafted[file] = rounds_of(drafter, model)
            for i, one in enumerate(drafted[file]):
                given: dict[str, Any] = {"ids": one.before, "drafted": one.read.drafted}
                np.savez(f"{file}{i}.npz", **given, **read(one.before[:-1]))
    run(script, tmp_path)
    for file, rounds in drafted.items():
        near = [
            one.is_near(np.load(f"{file}{i}.npy"), list(one.read.drafted), 1e-5)
            for i, one in enumerate(rounds)
        ]
        assert all(near) == (file.name == "right"), file


def run(script: str, folder: Path) -> None:
    assert ORACLE
    subprocess.run([ORACLE, str(Path(__file__).parent / "oracles" / script), str(folder)], check=True)


def rounds_of(drafter: Any, model: Any) -> list[Proposed]:
    """Three rounds that rejected, one of the first two in the middle of its draft.

    The hotter, the more of a random drafter's choices are the target's: both add the same noise.
    """
    engine = Engine(model, [drafter], context_limit=400)
    # float32's rounding grows about threefold with each step of an assistant.
    depth = 3 if drafter.name == "assistant" else drafter.candidate.limit
    for seed in range(30):
        found = proposed(
            engine, TEXT, drafter.name, max_tokens=4 * depth, draft_length=depth, temperature=4, seed=seed
        )[:ROUNDS]
        accepted = [one.read.accepted for one in found]
        if len(found) == ROUNDS and max(accepted) < depth and any(accepted[:-1]):
            return found
    raise AssertionError("no seed gives such rounds")
