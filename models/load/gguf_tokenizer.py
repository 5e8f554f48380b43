"""The tokenizer of a GGUF file, from its metadata; SentencePiece's is converted by transformers."""

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from models.errors import BadChoice
from models.load.gguf_file import GgufFile
from models.load.token_bytes import SPACE

SPLITS: dict[str, list[pre_tokenizers.PreTokenizer]] = {
    "gpt-2": [], "smollm": [pre_tokenizers.Digits(individual_digits=True)]
}  # fmt: skip
"""By `tokenizer.ggml.pre`, before the split of GPT-2: pre-tokenizers that transformers does not know."""
WHOLE_WORDS = ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "tekken")
"""By the same name: where llama.cpp takes a word that is a token without merging, and adds a begin token."""
CONTROL, USER_DEFINED = 3, 4
"""Types of tokens that are found in a text before it is split."""


def tokenizer_of(file: GgufFile) -> PreTrainedTokenizerFast:
    """The tokenizer that a file's metadata describe; BadChoice if it is not supported."""
    from transformers.integrations.gguf import gguf_tokenizer_mapping as mapping

    described = {
        name: file.get(f"tokenizer.{key}")
        for key, name in mapping.GGUF_TOKENIZER_MAPPING["tokenizer"].items()
        if f"tokenizer.{key}" in file
    }
    kind, split = described.get("tokenizer_type"), described.get("pre_tokenizer_type", "unnamed")
    if kind != "llama" and (kind != "gpt2" or split not in {*SPLITS, *mapping.GGUF_PRE_TOKENIZER_SPLITS}):
        raise BadChoice(
            f"{file.path} has a tokenizer that is not supported in GGUF files: {kind}, {split}. "
            "Use an MLX or safetensors version of the model."
        )
    if kind == "gpt2":
        backend = _byte_level(described, split, mapping.GGUF_PRE_TOKENIZER_SPLITS.get(split))
    else:
        backend: Tokenizer = mapping.convert_gguf_tokenizer(file.architecture, described)[0]
        if not file.get("tokenizer.ggml.add_space_prefix", True):  # transformers does not look at it
            backend.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "never", split=False)
            backend.decoder = decoders.Sequence(
                [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
            )
    special = {
        f"{name}_token": described["tokens"][file.get(f"tokenizer.ggml.{key}_token_id")]
        for name, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"))
        if f"tokenizer.ggml.{key}_token_id" in file
    }
    begins = file.get("tokenizer.ggml.add_bos_token", kind == "llama" or split in WHOLE_WORDS)
    if begins and "bos_token" in special:
        bos = special["bos_token"]
        backend.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, backend.token_to_id(bos))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        chat_template=file.get("tokenizer.chat_template", "") or None,
        clean_up_tokenization_spaces=False,
        **special,
    )


def _byte_level(described: Mapping[str, Any], split: str, pattern: str | None) -> Tokenizer:
    """Byte-level BPE. transformers' conversion loses special tokens with other letters than those of bytes,
    such as DeepSeek's, and adds GPT-2's, for which the model has no row."""
    tokens: list[str] = described["tokens"]
    pairs: list[tuple[str, str]] = [tuple(merge.split(" ")) for merge in described["merges"]]  # type: ignore[misc]
    # So llama.cpp names rows without a token; a folder's tokenizer has none there.
    vocab = {token: i for i, token in enumerate(tokens) if token != f"[PAD{i}]"}
    backend = Tokenizer(BPE(vocab, pairs, ignore_merges=split in WHOLE_WORDS))
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated")] if pattern else SPLITS[split]
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not pattern)]
    )
    backend.decoder = decoders.ByteLevel()
    kinds = zip(tokens, described.get("token_type", ()), strict=False)
    found = [(token, kind) for token, kind in kinds if kind in (CONTROL, USER_DEFINED)]
    backend.add_tokens([AddedToken(name, normalized=False, special=kind == CONTROL) for name, kind in found])
    return backend
