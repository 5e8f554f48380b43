"""GGUF files against the same weights in mlx-lm's own form: the logits, the tokens, and what is refused."""

from pathlib import Path

import mlx.core as mx
import pytest
from gguf import GGMLQuantizationType as Kind
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

from models.errors import BrokenFiles, UnsupportedFormat
from models.load.gguf import convert
from tests.models.load.tiny_gguf import MODELS, TOKENS, write_gguf

IDS = mx.array([[7, 260, 31, 2, 104, 9, 256, 88, 40, 41, 3, 200]])


@pytest.mark.parametrize(
    "kind", [Kind.F32, Kind.F16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("architecture", MODELS)
def test_a_gguf_gives_the_logits_of_the_weights_it_holds(architecture, kind, tmp_path):
    wanted = write_gguf(tmp_path / "model.gguf", architecture, kind)(IDS)
    assert converted(tmp_path) == ""
    model = load_model(tmp_path / "mlx")[0]
    model.set_dtype(mx.float32)
    assert mx.abs(dequantize_model(model)(IDS) - wanted).max() < 1e-4 * mx.abs(wanted).max()


def test_weights_in_groups_of_32_keep_their_bits(tmp_path):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.Q4_1)
    converted(tmp_path)
    packed = mx.load(str(tmp_path / "model.gguf"))
    ours = mx.load(str(tmp_path / "mlx" / "model.safetensors"))
    for leaf in ("weight", "scales", "biases"):
        assert mx.array_equal(ours[f"model.layers.0.mlp.up_proj.{leaf}"], packed[f"blk.0.ffn_up.{leaf}"])


def test_a_file_of_k_quants_is_quantized_again_and_that_is_noted(tmp_path):
    wanted = write_gguf(tmp_path / "model.gguf", "qwen3", Kind.F16, file_type=18)(IDS)
    assert "quantized again, to 6 bits" in converted(tmp_path)
    logits = load_model(tmp_path / "mlx")[0](IDS)
    assert mx.abs(logits - wanted).max() < 0.2 * mx.abs(wanted).max()


def test_its_tokenizer_reads_and_writes_the_same_text(tmp_path):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.F16)
    converted(tmp_path)
    tokenizer = load_tokenizer(tmp_path / "mlx")
    assert [TOKENS[i] for i in tokenizer.encode("hello w42<|end|>")] == ["hello", "Ġw", "4", "2", "<|end|>"]
    assert tokenizer.decode(tokenizer.encode("Größe 12\n<|start|>")) == "Größe 12\n<|start|>"
    assert tokenizer.eos_token_ids == {TOKENS.index("<|end|>")}
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "hello"}], tokenize=False)
    assert chat == "<|start|>hello<|end|>"


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"called": "mamba"}, "the architecture mamba; GGUF files of llama, qwen2, qwen3, gemma3 are read"),
        ({"pre": "viking"}, "a tokenizer of a kind that is not read from GGUF here: gpt2, viking"),
    ],
)
def test_what_is_not_read_is_refused_by_name(given, refusal, tmp_path):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.F16, **given)
    with pytest.raises(UnsupportedFormat, match=refusal):
        converted(tmp_path)


@pytest.mark.parametrize("kept", [0, 3, 1000, -1])
def test_a_cut_file_is_refused(kept, tmp_path):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.F16)
    whole = (tmp_path / "model.gguf").read_bytes()
    (tmp_path / "model.gguf").write_bytes(whole[:kept])
    with pytest.raises(BrokenFiles, match="cannot be read as GGUF"):
        converted(tmp_path)


def converted(folder: Path) -> str:
    (folder / "mlx").mkdir()
    return convert(folder / "model.gguf", folder / "mlx")
