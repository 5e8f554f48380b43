"""Writes what the GPU's machine needs: the target as its GGUF has it, the head to start from, the prompts."""

import argparse
import shutil
from itertools import chain, islice
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from mlx_lm.tokenizer_utils import load as read_tokenizer

from models.documents.folder import listed, read_texts
from models.load.gguf import unpack
from models.training.template import TASKS, chat_template
from train_head.prompts import FOLLOW_UPS, prompts

COUNT = 80_000
"""Prompts: rows of 1,024 tokens use about four each."""
LONGEST = 640
"""Tokens of a prompt: there should be room for the answer."""


def main(arguments: list[str]) -> None:
    """The stage `prepare`."""
    parser = argparse.ArgumentParser(prog="python -m train_head prepare")
    parser.add_argument("work", type=Path)
    parser.add_argument("--gguf", type=Path, required=True, help="the target, as `mlx-spec doctor` names it")
    parser.add_argument("--head", type=Path, default=Path("models/heads/smollm2-135m"))
    parser.add_argument("--texts", type=Path, required=True, help="a folder of texts to ask about")
    parser.add_argument("--count", type=int, default=COUNT)
    given = parser.parse_args(arguments)
    given.work.mkdir(parents=True, exist_ok=True)
    weights, _ = unpack(given.gguf, given.work)
    mx.save_safetensors(str(given.work / "target.safetensors"), weights)
    shutil.copyfile(given.head / "model.safetensors", given.work / "head.safetensors")
    texts, _ = read_texts(given.texts, listed(given.texts))
    np.savez_compressed(given.work / "prompts.npz", **arrays(read_tokenizer(given.work), texts, given.count))


def arrays(tokenizer: Any, texts: list[str], count: int) -> dict[str, np.ndarray]:
    """What `learn` reads: lists of token ids side by side, and where each begins."""

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    template = chat_template(tokenizer)
    made = ((encode(text), on) for text, on in prompts(texts, 0))
    kept = list(islice(((ids, on) for ids, on in made if len(ids) <= LONGEST), count))
    lists = {
        "prompt": [ids for ids, _ in kept],
        "follow": [encode(text) for text in FOLLOW_UPS],
        "task": [encode(text) for text in TASKS],
    }
    found = {"written_on": np.array([on for _, on in kept]), "answer": np.array(template.answer)}
    found["begin"] = np.array(template.question)
    # A second question, after the end of an answer: without the system's words.
    message = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "Zebra"}]
    text = tokenizer.apply_chat_template([*message, {"role": "user", "content": "b"}], tokenize=False)
    found["again"] = np.array(encode(text.partition("Zebra")[2].partition("b<")[0]))
    for name, each in lists.items():
        found[name] = np.fromiter(chain.from_iterable(each), np.uint16)
        found[f"{name}_starts"] = np.cumsum([0, *map(len, each)]).astype(np.int32)
    return found
