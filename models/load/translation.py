"""Between two tokenizers, by the bytes that their tokens stand for.

A text is translated word by word: a word is read anew while it grows, what is before it stays. A token that
both sides know is the same bytes to both; special tokens are the same where they have one name or one role.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from models.errors import BadChoice
from models.load.tokenizers import PROBES, differences, read_tokenizer, same_files
from models.pairs.drafter_kinds import MODEL
from models.pairs.folder import folder_kind

SPACE = "\u2581"
"""SentencePiece's space."""
LONGEST = 32
"""Tokens after which a word without an end is taken for ended."""
REMEMBERED = 65_536
"""Words whose tokens are kept."""
MOSTLY = 0.5
"""Share of a usual text's tokens that both must know to guess among those."""
ANCHORS = ("", "\n", "a")
"""What a text is written after, where it is not encoded alone as it stands."""


def _byte_letters() -> list[str]:
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(256, 512))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


BYTE_LETTERS = _byte_letters()
"""The letter that stands for each byte in byte-level tokens (GPT-2's `bytes_to_unicode`)."""


class TokenBytes:
    """What the tokens of one tokenizer stand for.

    Args:
        tokenizer: Hugging Face's, a fast one.
    """

    def __init__(self, tokenizer: Any):
        self._backend = tokenizer.backend_tokenizer
        self._special = set(tokenizer.all_special_tokens) | {
            each.content for each in tokenizer.added_tokens_decoder.values() if each.special
        }
        self.special = {i: name for name, i in tokenizer.get_vocab().items() if name in self._special}
        """Names of special tokens."""
        roles = {"bos": tokenizer.bos_token_id, "eos": tokenizer.eos_token_id}
        self.roles = {role: i for role, i in roles.items() if i is not None}
        ordinary = {i: name for name, i in tokenizer.get_vocab().items() if i not in self.special}
        added = set(tokenizer.get_added_vocab())
        read = _reader(json.loads(self._backend.to_str()).get("decoder"))
        self.bytes = {i: name.encode() if name in added else read(name) for i, name in ordinary.items()}
        """Of all others."""
        with_start = tokenizer("a")["input_ids"]
        self.start = with_start[:1] if with_start[:1] == [self.roles.get("bos")] else []
        """What its texts begin with."""
        self.encode = lru_cache(REMEMBERED)(self._encode)

    def by_bytes(self) -> dict[bytes, int]:
        """The token for each string of bytes; of several the one that it uses: a piece, not the fallback."""
        found: dict[bytes, int] = {}
        several: set[bytes] = set()
        for token in sorted(self.bytes):
            if found.setdefault(self.bytes[token], token) != token:
                several.add(self.bytes[token])
        for each in several:
            used = self.encode(text) if (text := _decoded(each)) else None
            if used and len(used) == 1:
                found[each] = used[0]
        return found

    def of(self, tokens: Sequence[int]) -> bytes:
        """Special ones are nothing."""
        return b"".join(self.bytes.get(token, b"") for token in tokens)

    def _encode(self, text: str) -> tuple[int, ...] | None:
        """Tokens that are this text, in the middle of another; None where it cannot say it.

        Some tokenizers put a space before a text: then it is encoded without its own, or after another text.
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
        """Its tokens, those of a text that it takes for the same where it changes texts."""
        if (found := self.encode(text)) is not None:
            return found
        puts_space = self.of(self._tokens("a")) == b" a"
        return tuple(self._tokens(text.removeprefix(" ") if puts_space else text))

    def _tokens(self, text: str) -> list[int]:
        return self._backend.encode(text, add_special_tokens=False).ids


class Translation:
    """Between a target's tokenizer and a draft model's: Hugging Face's."""

    def __init__(self, target: Any, draft: Any):
        self.target, self.draft = TokenBytes(target), TokenBytes(draft)
        ours, theirs = self.target.by_bytes(), self.draft.by_bytes()
        seen = {ours[each]: theirs[each] for each in ours.keys() & theirs.keys()}
        self.special = self._special()
        """The draft model's token for a special one of the target's."""
        seen |= {ours: other for ours, other in self.special.items() if other not in seen.values()}
        self._shared = sorted(seen.items())
        probes = [self.target.nearest(text) for text in PROBES]
        count = sum(map(len, probes))
        self._fertility = sum(len(self.draft.nearest(text)) for text in PROBES) / count
        self.known = sum(token in seen for probe in probes for token in probe) / count
        """Share of a usual text's tokens that both know."""

    @property
    def by_vocabulary(self) -> bool:
        """Whether the draft model guesses among tokens that both know; else it writes text."""
        return self.known >= MOSTLY

    @property
    def shared(self) -> tuple[Sequence[int], Sequence[int]]:
        return [ours for ours, _ in self._shared], [theirs for _, theirs in self._shared]

    @property
    def fertility(self) -> float:
        return self._fertility

    def transcript(self) -> "Words":
        return Words(self)

    def _special(self) -> dict[int, int]:
        named = {name: i for i, name in self.draft.special.items()}
        found = {i: named[name] for i, name in self.target.special.items() if name in named}
        for role, token in self.target.roles.items():
            if token not in found and role in self.draft.roles:
                found[token] = self.draft.roles[role]
        return found


class Words:
    """A text, word by word."""

    def __init__(self, translation: Translation):
        self._between = translation
        self._forget()

    def unread(self, tokens: Sequence[int]) -> int:
        return len(tokens) - (len(self._read) if self._goes_on(tokens) else 0)

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        if not self._goes_on(tokens):
            self._forget()
        for token in tokens[len(self._read) :]:
            if self._word and self._ends_before(token):
                self._ids += self._said(self._word) or self._between.draft.nearest(self._text("replace"))
                self._word = []
            self._word.append(token)
            self._read.append(token)
        said = self._said(self._word)
        if said is None:
            return []
        read, start = [*self._ids, *said], self._between.draft.start
        return read if read[:1] == start else [*start, *read]

    def to_target(self, drafted: Sequence[int]) -> list[int]:
        target, draft = self._between.target, self._between.draft
        written, end = self._cut(drafted)
        word = [] if self._is_special(self._word) else self._word
        more = _whole(target.of(word) + draft.of(written))[len(target.of(word)) :]
        together = _decoded(target.of(word) + more)
        tokens = together and target.encode(together)
        if tokens and list(tokens[: len(word)]) == word:
            return [*tokens[len(word) :], *end]
        alone = _decoded(more)  # the target has cut its word in another way: it goes on from there
        tokens = alone and target.encode(alone)
        return [*tokens, *end] if tokens else []

    def _forget(self) -> None:
        self._read: list[int] = []
        """All that was translated."""
        self._ids: list[int] = []
        """Of whole words."""
        self._word: list[int] = []
        """The target's tokens of the last one, which may go on."""

    def _goes_on(self, tokens: Sequence[int]) -> bool:
        return list(tokens[: len(self._read)]) == self._read

    def _ends_before(self, token: int) -> bool:
        """Whether a word ends where this token follows."""
        if self._is_special([token]) or self._is_special(self._word):
            return True
        begins = self._between.target.bytes.get(token, b"")[:1] in (b" ", b"\n")
        return begins or (len(self._word) >= LONGEST and self._said(self._word) is not None)

    def _is_special(self, word: Sequence[int]) -> bool:
        return bool(word) and word[0] in self._between.target.special

    def _said(self, word: Sequence[int]) -> Sequence[int] | None:
        """A word in the draft model's tokens; None where it ends in the middle of a character."""
        if self._is_special(word):
            known = self._between.special.get(word[0])
            return [] if known is None else [known]
        text = _decoded(self._between.target.of(word))
        return None if text is None else self._between.draft.nearest(text)

    def _text(self, errors: str) -> str:
        return self._between.target.of(self._word).decode(errors=errors)

    def _cut(self, drafted: Sequence[int]) -> tuple[list[int], list[int]]:
        """What was written before a special token; the target's own of that, where it has one."""
        written: list[int] = []
        for token in drafted:
            if token in self._between.draft.special:
                return written, [ours for ours, theirs in self._between.special.items() if theirs == token][
                    :1
                ]
            written.append(token)
        return written, []


def translation(target: Path, draft: Path, fitting: str | None) -> tuple[Translation | None, tuple[str, ...]]:
    """What a draft model needs to draft for a target, None where both read text alike; and notes.

    Args:
        fitting: a draft of the target's own tokenizer, to name beside one of another.

    Raises:
        ModelsError: a tokenizer cannot be read, or the draft cannot be translated.
    """
    if same_files(target, draft):
        return None, ()
    tokenizers = read_tokenizer(target), read_tokenizer(draft)
    fatal, notes = differences(*tokenizers)
    if not fatal:
        return None, notes
    if (kind := folder_kind(draft)) != MODEL or not all(each.is_fast for each in tokenizers):
        why = f"drafters of the kind {kind}" if kind != MODEL else "tokenizers without a tokenizer.json"
        raise BadChoice(
            f"Target and draft read text differently: {fatal}. Drafts of {why} cannot be translated. "
            f"Use {f'the draft {fitting}' if fitting else 'a draft of the target’s own family'}, or none "
            "(on the command line: --draft none)."
        )
    found = Translation(*tokenizers)
    how = "it guesses among those" if found.by_vocabulary else "it writes text, which the target reads"
    better = f" The draft {fitting} reads text as the target does." if fitting else ""
    return found, (
        f"The draft has another tokenizer. Both know {found.known:.0%} of a usual text's tokens: {how}. "
        f"Every draft waits for the text, and is right less often.{better}",
    )


def _decoded(text: bytes) -> str | None:
    """None where it is no whole characters."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _whole(text: bytes) -> bytes:
    """Without the half of a character at its end."""
    for cut in range(min(4, len(text) + 1)):
        if _decoded(text[: len(text) - cut]) is not None:
            return text[: len(text) - cut]
    return text


def _reader(decoder: Any) -> Any:
    """From a token's name to its bytes, as this decoder of a tokenizer.json has them."""
    kinds = {each["type"]: each for each in _decoders(decoder)}
    inner, last = (
        kinds.get(kind, {}).get(key) for kind, key in (("WordPiece", "prefix"), ("BPEDecoder", "suffix"))
    )
    if "ByteLevel" in kinds:
        letters = {letter: byte for byte, letter in enumerate(BYTE_LETTERS)}
        return lambda name: b"".join(
            bytes([letters[letter]]) if letter in letters else letter.encode() for letter in name
        )

    def read(name: str) -> bytes:
        if "ByteFallback" in kinds and len(name) == 6 and name.startswith("<0x"):
            return bytes([int(name[3:5], 16)])
        if inner or not kinds:  # words stand apart
            name = name.removeprefix(inner) if inner and name.startswith(inner) else f" {name}"
        elif last:
            name = name.replace(last, " ")
        return name.replace(SPACE, " ").encode()

    return read


def _decoders(decoder: Any) -> Iterator[dict[str, Any]]:
    yield from (decoder or {}).get("decoders", [decoder] if decoder else [])
