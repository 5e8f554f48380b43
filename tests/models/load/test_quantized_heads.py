"""Heads stored unquantized are quantized as their target, or as by `--drafter-bits`.

Loading follows the path for Metal; the results are the same on a CPU.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten

from mlx_spec import Engine
from mlx_spec.drafters import Drafter
from models.load.drafters import LOADERS, WHOLE, with_bits
from models.load.gguf_file import LEAVES
from models.load.medusa import save_medusa
from tests.mlx_spec import assistant_heads, dflash_heads, heads, peagle_heads
from tests.mlx_spec.grid import grid
from tests.mlx_spec.tiny_models import prompt, text
from tests.models.drafter_folders import Tensors, edit_tensors
from tests.models.load import (
    published_eagle,
    test_assistant,
    test_deepseek_mtp,
    test_dflash,
    test_medusa,
    test_mtp,
    test_peagle,
)
from tests.models.load.test_deepseek_mtp import FLASH, KIND

PROMPT = prompt(9, 1)
CONFIG = {"quantization": {"group_size": 32, "bits": 4}}
KEPT = ("fc", "pre_projection", "_")
"""Not quantized: what reads the target's states, whose numbers vary widely in size, and the target's own."""


def eagle(folder: Path) -> Path:
    return published_eagle.publish(folder / "e", heads.head_for(heads.target()), "SGLang", fc_norm=True)


def medusa(folder: Path) -> Path:
    save_medusa(folder, test_medusa.head_for(), {})
    return folder


def dflash(folder: Path) -> Path:
    head = dflash_heads.random_head(dflash_heads.SHAPE)
    return test_dflash.publish(folder / "d", head, test_dflash.z_lab())


def peagle(folder: Path) -> Path:
    return test_peagle.publish(folder / "p", peagle_heads.head_for(), "speculators")


def assistant(folder: Path) -> Path:
    return test_assistant.publish(folder / "a", assistant_heads.head_for(assistant_heads.target()))


def mtp(folder: Path) -> Path:
    head = test_mtp.head_for(test_mtp.target_of("qwen3_5"))
    return test_mtp.publish(folder / "m", head, test_mtp.original, "qwen3_5")


def latent(folder: Path, kind: str) -> Path:
    head = test_mtp.head_for(test_deepseek_mtp.target(kind))
    return test_mtp.publish(folder / "m", head, test_deepseek_mtp.deepseek, kind, test_mtp.apart)


Family = tuple[Callable[[Path], Path], Callable[[], Any], Callable[..., Drafter]]
FAMILIES: dict[str, Family] = {
    "eagle": (eagle, heads.target, LOADERS["eagle"]),
    "peagle": (peagle, heads.target, LOADERS["peagle"]),
    "medusa": (medusa, test_medusa.target, LOADERS["medusa"]),
    "dflash": (dflash, heads.target, LOADERS["dflash"]),
    "mtp": (mtp, lambda: test_mtp.target_of("qwen3_5"), LOADERS["mtp"]),
    "mtp of DeepSeek": (lambda folder: latent(folder, KIND), test_deepseek_mtp.target, LOADERS["mtp"]),
    "mtp of GLM-4.7-Flash": (
        lambda folder: latent(folder, FLASH),
        lambda: test_deepseek_mtp.target(FLASH),
        LOADERS["mtp"],
    ),
    "assistant": (assistant, assistant_heads.target, LOADERS["assistant"]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_products_become_as_many_bits_as_asked_for_and_the_text_stays(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.load.heads.on_cpu", lambda: False)
    write, target, load = FAMILIES[family]
    folder, model = write(tmp_path), target()
    for config in ({}, with_bits(CONFIG, WHOLE)):
        whole: Any = load(folder, model, config)
        assert not _quantized(whole.head)
    if "of" not in family:  # these have matrices as wide as a group of 64
        eight: Any = load(folder, model, with_bits({}, 8))
        assert {layer.bits for layer in _quantized(eight.head).values()} == {8}
    drafter: Any = load(folder, model, with_bits(CONFIG, None))
    packed = _quantized(drafter.head)
    assert (
        packed
        and {layer.bits for layer in packed.values()} == {4}
        and not any(name.startswith(KEPT) for name in packed)
    )
    engine = Engine(model, [drafter], context_limit=400)
    options = {"max_tokens": 8, "temperature": 0.8}
    drafted = text(engine, PROMPT, drafter=drafter.name, draft_length=2, **options)
    assert drafted == text(engine, PROMPT, drafter="none", **options)


@pytest.mark.parametrize("family", grid(FAMILIES, usual=[("dflash",), ("eagle",)]))
def test_a_quantized_head_of_a_quantized_target_reads_a_long_prompt_and_changes_no_text(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass over a part of the prompt has no row of a draft: MLX multiplies no quantized matrix by none."""
    monkeypatch.setattr("models.load.heads.on_cpu", lambda: False)
    write, target, load = FAMILIES[family]
    folder, model = write(tmp_path), target()
    nn.quantize(model, 32, 4, class_predicate=_is_wide)
    drafter: Any = load(folder, model, with_bits(CONFIG, None))
    assert _quantized(model) and _quantized(drafter.head)
    engine, ids = Engine(model, [drafter], context_limit=400), prompt(80, 1)
    drafted = text(engine, ids, drafter=drafter.name, draft_length=2, max_tokens=8)
    assert drafted == text(engine, ids, drafter="none", max_tokens=8)


def _is_wide(name: str, layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear | nn.Embedding) and layer.weight.shape[-1] % 32 == 0


def test_each_matrix_keeps_its_bits_and_all_get_the_target_s_type(tmp_path: Path, monkeypatch: Any) -> None:
    """mlx-lm gives experts' gates 8 bits where others have 4."""
    monkeypatch.setattr("models.load.heads.on_cpu", lambda: False)
    stored = {"lm_head": ("affine", 8), "midlayer.mlp.up_proj": ("affine", 4), "fc": ("mxfp4", 4)}

    def pack(tensors: Tensors) -> None:
        for name, (mode, bits) in stored.items():
            packed = mx.quantize(tensors[f"{name}.weight"], 32, bits, mode)
            tensors |= zip((f"{name}.{leaf}" for leaf in LEAVES), packed, strict=False)

    model = heads.target()
    model.set_dtype(mx.bfloat16)
    head: Any = LOADERS["eagle"](edit_tensors(eagle(tmp_path), pack), model, {}).head
    assert {name: (layer.mode, layer.bits) for name, layer in _quantized(head).items()} == stored
    assert {x.dtype for _, x in tree_flatten(head.parameters())} == {mx.bfloat16, mx.uint32, mx.uint8}  # type: ignore[union-attr]
    assert head.guesses(mx.ones((1, 1, 32), mx.bfloat16)).dtype == mx.bfloat16


def _quantized(head: nn.Module) -> dict[str, Any]:
    return {name: layer for name, layer in head.named_modules() if "scales" in layer}
