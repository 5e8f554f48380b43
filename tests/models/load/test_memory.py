"""Weights that do not fit are refused before they are read."""

import json
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models.llama import Model, ModelArgs

from models.errors import MachineTrouble
from models.load.engine import check_memory, weight_bytes
from models.pairs.folder import check_folder
from tests.models.tiny_models import make_pair, model_config


def test_weights_larger_than_memory_are_refused_with_both_numbers(tmp_path: Path) -> None:
    folders = list(make_pair(tmp_path))
    needed = sum(check_folder(folder) for folder in folders)

    check_memory(folders, needed, as_float32=False)
    with pytest.raises(MachineTrouble, match=r"need 222\.2 kB of memory, and 222\.2 kB can be used"):
        check_memory(folders, needed - 1, as_float32=False)


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_are_counted_as_the_float32_they_become(tmp_path: Path, bits: int) -> None:
    config = model_config(hidden_size=64, intermediate_size=128)
    model = Model(ModelArgs.from_dict(config))
    plain = sum(array.nbytes for _, array in tree_flatten(model.parameters()) if isinstance(array, mx.array))
    model.set_dtype(mx.bfloat16)
    nn.quantize(model, group_size=64, bits=bits)
    mx.save_safetensors(str(tmp_path / "model.safetensors"), dict(tree_flatten(model.parameters())))
    quantization = {"bits": bits, "group_size": 64}
    (tmp_path / "config.json").write_text(json.dumps(config | {"quantization": quantization}))

    assert plain < weight_bytes(tmp_path, as_float32=True) < 1.05 * plain
    assert weight_bytes(tmp_path, as_float32=False) < plain * bits / 28
