"""The bytes that each token of a tokenizer stands for."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE

SPACE = "\u2581"
"""SentencePiece's space."""
REMEMBERED = 65_536
"""Texts whose tokens are cached."""
ANCHORS = ("", "\n", "a")
"""Prefixes to try until the tokens of a text stand for exactly its bytes."""


def _byte_letters() -> list[str]:
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(256, 512))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


BYTE_LETTERS = _byte_letters()
"""The letter that stands for each byte in byte-level tokens (GPT-2's `bytes_to_unicode`)."""


class TokenBytes:
    """Conversion between a tokenizer's ids and bytes.

    Args:
        tokenizer: a fast one of Hugging Face's.
    """

    def __init__(self, tokenizer: Any):
        self._backend = tokenizer.backend_tokenizer
        names = {i: name for name, i in tokenizer.get_vocab().items()}
        added = tokenizer.added_tokens_decoder
        special = {*tokenizer.all_special_tokens, *(each.content for each in added.values() if each.special)}
        self.special = {i: name for i, name in names.items() if name in special}
        """Names of special tokens, by id."""
        self.end: int | None = tokenizer.eos_token_id
        read = _reader(self._backend)
        self.bytes = {i: read(name, i in added) for i, name in names.items() if i not in self.special}
        """Bytes of all other tokens, by id."""
        with_start = tokenizer("a")["input_ids"]
        self.start: list[int] = with_start[:1] if with_start[:1] == [tokenizer.bos_token_id] else []
        """The ids that every text begins with: the bos token, or none."""
        self.encode = lru_cache(REMEMBERED)(self._encode)

    def by_bytes(self) -> dict[bytes, int]:
        """The token for each byte string; of several, the one the tokenizer uses (not a byte fallback)."""
        found: dict[bytes, int] = {}
        several: set[bytes] = set()
        for token in sorted(self.bytes):
            if found.setdefault(self.bytes[token], token) != token:
                several.add(self.bytes[token])
        for each in several:
            used = self.encode(text) if (text := decoded(each)) else None
            if used and len(used) == 1:
                found[each] = used[0]
        return found

    def of(self, tokens: Sequence[int]) -> bytes:
        """The bytes of these tokens; special tokens have none."""
        return b"".join(self.bytes.get(token, b"") for token in tokens)

    def _encode(self, text: str) -> tuple[int, ...] | None:
        """The tokens of this text in the middle of another; None if no tokens stand for exactly its bytes.

        Some tokenizers put a space before a text: it is tried after other texts, and without its own space.
        """
        wanted = text.encode()
        for before in (*ANCHORS, None):
            if before is None and not text.startswith(" "):
                continue
            tokens = self._tokens(text[1:] if before is None else before + text)
            for start in range(3 if before else 1):
                if self.of(tokens[start:]) == wanted:
                    return tuple(tokens[start:])
        return None

    def nearest(self, text: str) -> tuple[int, ...]:
        """The text's tokens; if the tokenizer normalizes it, those of the normalized text."""
        if (found := self.encode(text)) is not None:
            return found
        puts_space = self.of(self._tokens("a")) == b" a"
        return tuple(self._tokens(text.removeprefix(" ") if puts_space else text))

    def _tokens(self, text: str) -> list[int]:
        return self._backend.encode(text, add_special_tokens=False).ids


def decoded(text: bytes) -> str | None:
    """The text of UTF-8 bytes; None if they are not whole characters."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _reader(tokenizer: Tokenizer) -> Callable[[str, bool], bytes]:
    """A function from a token's name, and whether it is an added one, to its bytes, according to the
    tokenizer's decoder."""
    alone = Tokenizer(BPE())  # the decoder only: a whole tokenizer is megabytes of JSON
    alone.decoder = tokenizer.decoder
    decoder = json.loads(alone.to_str())["decoder"] or {"decoders": []}
    kinds = {each["type"]: each for each in decoder.get("decoders", [decoder])}
    inner, last = kinds.get("WordPiece", {}).get("prefix"), kinds.get("BPEDecoder", {}).get("suffix")
    if "ByteLevel" in kinds:
        letters = {letter: byte for byte, letter in enumerate(BYTE_LETTERS)}

        def read_letters(name: str, is_added: bool) -> bytes:
            if is_added:
                return name.encode()
            return b"".join(bytes([letters[x]]) if x in letters else x.encode() for x in name)

        return read_letters

    def read(name: str, is_added: bool) -> bytes:
        if is_added:  # Gemma's runs of spaces are
            return name.replace(SPACE, " ").encode()
        if "ByteFallback" in kinds and len(name) == 6 and name.startswith("<0x"):
            return bytes([int(name[3:5], 16)])
        if inner or not kinds:  # words stand apart
            name = name.removeprefix(inner) if inner and name.startswith(inner) else f" {name}"
        elif last:
            name = name.replace(last, " ")
        return name.replace(SPACE, " ").encode()

    return read
