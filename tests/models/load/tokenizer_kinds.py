"""Makes small tokenizers of many kinds."""

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tests.models.tiny_models import TEXT, make_tokenizer

WORDS = ("the small model", " guesses", " ahead\n", "\n\n  def f(x):", " return", " größe naïve", " 日本語",
         "は", "👩\u200d💻", " 12345", " x+1", "é", "ing", " unbelievable", "\t", "  ", " the", "large",
         " one,", " checks.")  # fmt: skip
MIXED = (*TEXT, "größe naïve 日本語は 👩‍💻 12345 unbelievable guessing\t\n " * 9)


def saved(tokenizer: Tokenizer, folder: Path, **more: Any) -> Path:
    folder.mkdir()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in ("<s>", "</s>")])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", **more}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def spaced(folder: Path) -> Path:
    """As SentencePiece: a space before every text, byte fallback."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])  # type: ignore[assignment]
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )  # type: ignore[assignment]
    fallback = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=fallback)
    tokenizer.train_from_iterator(MIXED, trainer)
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = []  # bytes are pieces like others
    return saved(Tokenizer.from_str(json.dumps(content)), folder)


def characters(folder: Path) -> Path:
    """A token for some characters, bytes for the rest."""
    letters = sorted(set("".join(TEXT)) | {"é"})
    tokenizer = Tokenizer(
        models.BPE(
            {name: i for i, name in enumerate([*(f"<0x{byte:02X}>" for byte in range(256)), *letters])},
            [],
            byte_fallback=True,
        )
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])  # type: ignore[assignment]
    return saved(tokenizer, folder)


def lower(folder: Path) -> Path:
    """It lower-cases its texts."""
    make_tokenizer(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.Lowercase()  # type: ignore[assignment]
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def pieces(folder: Path) -> Path:
    make_tokenizer(folder, text=MIXED, vocabulary=400)
    return folder


def others(folder: Path) -> Path:
    make_tokenizer(folder, text=("entirely other words, größer still " * 30,), vocabulary=340)
    return folder


def words(folder: Path) -> Path:
    """As BERT: tokens are separate words, and continuations are marked."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()  # type: ignore[assignment]
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    tokenizer.decoder = decoders.WordPiece()  # type: ignore[assignment]
    trainer = trainers.WordPieceTrainer(vocab_size=200, show_progress=False, special_tokens=["<unk>"])
    tokenizer.train_from_iterator(MIXED, trainer)
    return saved(tokenizer, folder)


def ended(folder: Path) -> Path:
    """As the first GPT: the end of a word is marked."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(
        vocab_size=300, show_progress=False, end_of_word_suffix="</w>", special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(MIXED, trainer)
    return saved(tokenizer, folder)


def unigram(folder: Path) -> Path:
    """As T5, with byte fallback."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # type: ignore[assignment]
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])  # type: ignore[assignment]
    trainer = trainers.UnigramTrainer(
        vocab_size=200, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    content["model"]["byte_fallback"], content["added_tokens"] = True, []
    return saved(Tokenizer.from_str(json.dumps(content)), folder)


def added(folder: Path) -> Path:
    """Added tokens are split off a text first."""
    tokenizer = Tokenizer.from_file(str(pieces(folder) / "tokenizer.json"))
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False) for text in ("model", "  ", "g ah", "日本", "\n\n")]
    )
    tokenizer.add_tokens([AddedToken("the", single_word=True, normalized=False)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


MAKERS = {
    "pieces": pieces, "others": others, "spaced": spaced, "characters": characters, "unigram": unigram,
    "added": added,
}  # fmt: skip
