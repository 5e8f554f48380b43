"""The shipped pair: complete, small, within its limits, with a lossless tokenizer."""

import json
from functools import cache
from pathlib import Path

import mlx.core as mx
import pytest
from mlx_lm import load
from mlx_lm.generate import generate_step
from mlx_lm.utils import dequantize_model
from transformers import AutoTokenizer

BUILTIN = Path(__file__).parents[2] / "models" / "builtin"
FOLDERS = [BUILTIN / "target", BUILTIN / "draft"]


@pytest.fixture(scope="session")
def tokenizer():
    return AutoTokenizer.from_pretrained(FOLDERS[0], local_files_only=True)


@cache
def shipped(folder: Path):
    """The model in float32, and its tokenizer."""
    model, tokenizer, *_ = load(str(folder))
    model = dequantize_model(model)
    model.set_dtype(mx.float32)
    return model, tokenizer


def test_both_folders_together_stay_under_16_megabytes():
    assert sum(file.stat().st_size for folder in FOLDERS for file in folder.iterdir()) <= 16 * 2**20


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_configuration_says_what_it_is(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    assert "demonstration" in config["about"] and folder.name in config["about"].lower()
    assert config["quantization"] == {"group_size": 64, "bits": 8}
    assert config["model_type"] == "llama"


def test_target_and_draft_share_one_tokenizer():
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (FOLDERS[0] / name).read_bytes() == (FOLDERS[1] / name).read_bytes()


def test_any_text_survives_the_tokenizer(tokenizer):
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000][::97]
    for text in (
        "  two  blanks\tand\r\nlines\n\n",
        "naïve café, Straße, ÅØ, 日本語のテキスト and עברית and العربية",
        "👩‍👩‍👧‍👦 🏳️‍🌈 🤖 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \u0000 \u200b \ufeff",
        "def f(x):\n    return x ** 2",
        "",
        "".join(map(chr, points)),
    ):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.tokenize("2048") == ["2", "0", "4", "8"]


def test_the_chat_template_renders_several_turns(tokenizer):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Bye"},
    ]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>Hello!<|end|><|user|>Bye<|end|><|assistant|>"
    )
    ids = tokenizer.encode(text)
    assert [i for i in ids if i < 5] == [1, 4, 2, 4, 3, 4, 2, 4, 3]
    short = tokenizer.apply_chat_template(messages[1:3], tokenize=False)
    assert short == "<|user|>Hi<|end|><|assistant|>Hello!<|end|>"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_mlx_lm_loads_the_folder_from_local_files(folder: Path):
    model, tokenizer = shipped(folder)
    assert tokenizer.eos_token == "<|end|>"
    assert set(tokenizer.eos_token_ids) == {tokenizer.convert_tokens_to_ids("<|end|>")}
    logits = model(mx.array([[2, 10, 4, 3]]))
    assert logits.shape == (1, 4, 2048)
    assert mx.isfinite(logits).all().item()


def test_the_target_explains_drafting_and_admits_its_limits():
    assert says("What is speculative decoding?", "multiple tokens")
    assert says("Who was Napoleon?", "mlx-spec")


def says(question: str, word: str) -> bool:
    """Whether the greedy answer has the word; generation stops there."""
    model, tokenizer = shipped(FOLDERS[0])
    messages = [{"role": "user", "content": question}]
    prompt = mx.array(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))
    found = []
    for token, _ in generate_step(prompt, model, max_tokens=120):
        if int(token) in tokenizer.eos_token_ids:
            break
        found.append(int(token))
        if word in tokenizer.decode(found):
            return True
    return False
