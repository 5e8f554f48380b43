"""The number formats of GGUF files, against llama.cpp's own package."""

import gguf
import mlx.core as mx
import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Kind

from models.load.checkpoint import opened
from models.load.gguf_file import GgufFile
from models.load.gguf_numbers import GROUP, KINDS
from tests.models.load.tiny_gguf import write_gguf

SCALES = {
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
    "Q4_1": (0, 2),
    "Q5_1": (0, 2),
    "Q4_K": (0, 2),
    "Q5_K": (0, 2),
}
"""Where a block has float16 numbers; others at its begin."""
ROUNDED = {"Q2_K": 0.12, "Q3_K": 0.1, "Q6_K": 0.02}
"""How far weights may change, as a share of their size, in formats with scales of 16 weights."""


@pytest.mark.parametrize("kind", [Kind(number) for number in KINDS], ids=lambda kind: kind.name)
def test_a_matrix_has_the_numbers_of_llama_cpp(kind, tmp_path):
    blocks = _random_blocks(kind)
    _write(tmp_path / "model.gguf", blocks, kind)
    file = GgufFile(tmp_path / "model.gguf")
    leaves = file.tensor("output.weight").values()
    found = mx.dequantize(*leaves, group_size=GROUP, bits=KINDS[kind].bits).astype(mx.float32)
    wanted = mx.array(gguf.quants.dequantize(blocks, kind))
    assert mx.linalg.norm(found - wanted) < ROUNDED.get(kind.name, 2e-3) * mx.linalg.norm(wanted)
    assert bool(file.note) == kind.name.endswith("_K")
    q, scales, biases = KINDS[kind].decode(mx.array(blocks.reshape(-1, KINDS[kind].size)))
    exact = q.reshape(*scales.shape, -1) * scales[..., None] + biases[..., None]
    assert mx.allclose(exact.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6), "before they are rounded"
    bits = 8 if kind == Kind.IQ4_NL else int(kind.name[1]) + (kind.name in ("Q2_K", "Q3_K"))
    assert KINDS[kind].bits == bits


def test_weights_of_k_quants_are_noted(tmp_path, monkeypatch):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.Q8_0)
    monkeypatch.setattr("models.load.gguf_numbers.Kind.rounded", True)
    with opened(tmp_path / "model.gguf") as checkpoint:
        assert checkpoint.note == "model.gguf has K-quants: 16 matrices are rounded."


def _random_blocks(kind: Kind) -> np.ndarray:
    """A matrix of 8 rows and 512 columns."""
    weights, size = GGML_QUANT_SIZES[kind]
    random = np.random.default_rng(0)
    blocks = random.integers(0, 256, (8 * 512 // weights, size), np.uint8)
    for at in SCALES.get(kind.name, (0,)):
        numbers = random.uniform(0.01, 0.02, (len(blocks), 1)).astype(np.float16)
        blocks[:, at : at + 2] = numbers.view(np.uint8)
    return blocks.reshape(8, -1)


def _write(path, blocks: np.ndarray, kind: Kind) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("output.weight", blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
