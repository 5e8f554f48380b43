"""Folders of drafters, and a fake drafter to load from them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm.utils import load_model

from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter
from mlx_spec.training.start import eagle_head
from mlx_spec.verify.batch import BatchVerifier
from models.load.eagle import save_eagle
from models.training.kinds import eagle_shape
from tests.models.tiny_models import edit

EAGLE = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 32}
MEDUSA = {"medusa_num_heads": 2, "hidden_size": 32}
LAYER_SKIP = {"model_type": "layer_skip", "layers": [0]}


Tensors = dict[str, mx.array]


def write_folder(folder: Path, config: dict[str, Any], tensors: Tensors) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    mx.save_safetensors(str(folder / "model.safetensors"), tensors)
    return folder


def make_eagle(folder: Path, target: Path, tokens: Sequence[int], bits: int | None = None) -> Path:
    """A random head, as `mlx-spec train` saves it."""
    model, config = load_model(target)
    folder.mkdir(parents=True)
    save_eagle(folder, eagle_head(model, eagle_shape(config, model, tokens)), {}, bits)
    return folder


def edit_config(folder: Path, **changes: Any) -> Path:
    edit(folder / "config.json", **changes)
    return folder


def edit_tensors(folder: Path, change: Callable[[Tensors], object]) -> Path:
    """`change` is given all tensors by name, and changes the dictionary."""
    file = str(folder / "model.safetensors")
    tensors: Tensors = dict(mx.load(file))  # type: ignore[arg-type]
    mx.eval(tensors)
    change(tensors)
    mx.save_safetensors(file, tensors)
    return folder


def make_drafter(folder: Path, config: dict[str, Any], *, target: str | None = None) -> Path:
    """Write a config.json and unused weights."""
    folder.mkdir(parents=True, exist_ok=True)
    made_for = {"mlx_spec": {"target": target}} if target else {}
    (folder / "config.json").write_text(json.dumps(config | made_for))
    if config is not LAYER_SKIP:
        mx.save_safetensors(str(folder / "model.safetensors"), {"fc.weight": mx.zeros((4, 4))})
    return folder


class Repeating(Drafter):
    """Drafts the last token again and again."""

    def __init__(self, name: str, folder: Path, taps: Sequence[int] = ()):
        self.name, self.folder, self.taps = name, folder, taps

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return [Candidate(self.name, self.name, prior=0.5, limit=4)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        return Draft.chain(mx.repeat(context.last(1), depth, axis=1))
