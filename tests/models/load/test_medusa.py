"""Medusa heads trained here or published are saved and loaded; damaged files are named."""

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape
from models.errors import BrokenFiles
from models.load.drafters import LOADERS
from models.load.medusa import save_medusa
from models.pairs.folder import check_drafter
from tests.mlx_spec.equations import arrays, normed
from tests.mlx_spec.tiny_models import VOCAB, settled, tiny_llama
from tests.models.drafter_folders import edit_tensors, write_folder

KNOWN = tuple(range(0, VOCAB, 3))
DIM = 64


def target():
    return tiny_llama(0, dim=DIM)


def head_for(shared: bool = True) -> MedusaHead:
    shape = MedusaShape(3, 2, DIM, VOCAB, KNOWN if shared else tuple(range(VOCAB)), shared)
    return settled(MedusaHead(shape, target()), 5)  # type: ignore[return-value]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("bits", "close"), [(None, 2e-2), (8, 0.2)])
def test_what_was_written_takes_the_room_it_should_and_guesses_the_same(
    tmp_path: Path, shared: bool, bits: int | None, close: float
):
    head = head_for(shared)
    states = mx.random.normal((1, 5, DIM), key=mx.random.key(1))
    wanted = head.guesses(states)
    numbers = sum(x.size for _, x in tree_flatten(head.parameters()))  # type: ignore[union-attr]
    save_medusa(tmp_path, head, {"mlx_spec": {"target": "tiny"}}, bits)
    assert check_drafter(tmp_path) == "medusa"
    assert bits is None or (tmp_path / "model.safetensors").stat().st_size < 1.2 * numbers + 4096
    assert json.loads((tmp_path / "config.json").read_text())["mlx_spec"] == {"target": "tiny"}
    drafter = LOADERS["medusa"](tmp_path, target(), {})
    assert drafter.taps == (1,) and drafter.head.shape == head.shape
    found = drafter.head.guesses(states)
    assert found.shape == (1, 5, 3, len(head.shape.tokens))
    assert mx.abs(found - wanted).max() < close * mx.abs(wanted).max()


def test_tensors_are_named_as_in_published_checkpoints(tmp_path: Path):
    save_medusa(tmp_path, head_for(shared=False), {})
    weights: dict[str, mx.array] = mx.load(str(tmp_path / "model.safetensors"))  # type: ignore[assignment]
    names = {
        f"{i}.{layer}.linear.{part}" for i in range(3) for layer in range(2) for part in ("weight", "bias")
    }
    published = names | {f"{i}.2.weight" for i in range(3)}
    assert weights.keys() - {"d2t", "t2d"} == published
    assert weights["0.1.linear.weight"].shape == (DIM, DIM) and weights["2.2.weight"].shape == (VOCAB, DIM)
    config = {"medusa_num_heads": 3, "medusa_num_layers": 2}
    write_folder(tmp_path, config, {name: mx.array(weights[name]) for name in published})
    assert LOADERS["medusa"](tmp_path, target(), {}).head.shape == head_for(shared=False).shape


@pytest.mark.parametrize(
    ("tokens", "whole"), [(None, True), (KNOWN, False), (KNOWN[::-1], False), (KNOWN[::-1], True)]
)
@pytest.mark.parametrize("bias", [True, False])
def test_heads_as_vllm_wants_them_guess_what_their_equations_say(
    tmp_path: Path, tokens: Any, whole: bool, bias: bool
):
    """For all tokens or those of a `token_map`, all rows or those; config.json names too few heads."""
    given = arrays(dict(tree_flatten(head_for(shared=False).parameters())))  # type: ignore[arg-type]
    kept, weights = list(range(VOCAB) if tokens is None else tokens), {}
    for name, x in given.items():
        _, i, layer, *kind = name.split(".")
        if len(kind) == 1:
            weights[f"lm_heads.{i}.weight"] = x if whole else x[kept]
        elif bias or kind[1] == "weight":
            weights[f"blocks.{i}.layers.{layer}.{kind[1]}"] = x
    if tokens is not None:
        weights["token_map"] = np.array(tokens)
    config = {"model_type": "medusa", "num_heads": 2, "num_hidden_layers": 2, "vocab_size": VOCAB}
    write_folder(tmp_path, config, {name: mx.array(x) for name, x in weights.items()})
    assert check_drafter(tmp_path) == "medusa"
    head = LOADERS["medusa"](tmp_path, target(), {}).head
    assert head.shape.heads == 3 and head.shape.tokens == tuple(sorted(kept))
    states = np.random.default_rng(1).normal(size=(5, DIM)).astype(np.float32)
    found = np.array(head.logits(mx.array(states[None]))[0])
    norm = arrays({"w": target().model.norm.weight})["w"]  # type: ignore[union-attr]
    for i in range(3):
        z = normed(states, norm, 1e-5)
        for layer in range(2):
            y = z @ weights[f"blocks.{i}.layers.{layer}.weight"].T
            y = y + weights.get(f"blocks.{i}.layers.{layer}.bias", 0)
            z = z + y / (1 + np.exp(-y))
        rows = weights[f"lm_heads.{i}.weight"]
        wanted = z @ (rows[kept] if whole else rows).T
        assert np.abs(found[:, i, kept] - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("lost", "why"),
    [("0.0.linear.bias", "names no"), ("d2t", "names no"), ("1.1.linear.weight", "does not match"),
     ("lm_head.weight", "names no")],
)  # fmt: skip
def test_a_missing_tensor_is_named(tmp_path: Path, lost: str, why: str):
    save_medusa(tmp_path, head_for(), {})
    edit_tensors(tmp_path, lambda tensors: tensors.pop(lost))
    with pytest.raises(BrokenFiles, match=why):
        LOADERS["medusa"](tmp_path, target(), {})
