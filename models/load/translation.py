"""Translating between two tokenizers, by the bytes that their tokens stand for.

A text is translated word by word: only the last, unfinished word is translated again. A token is shared if it
stands for the same bytes on both sides; special tokens, if they have the same name or end a text. Begin
tokens are not: chats repeat them before every turn, which another model would read as a new text.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from models.errors import BadChoice
from models.load.token_bytes import TokenBytes, decoded
from models.load.tokenizers import differences, read_tokenizer, same_files
from models.pairs.catalogue import fitting_draft
from models.pairs.drafter_kinds import DRAFT_MODELS, MODEL
from models.pairs.folder import folder_kind
from models.pairs.installed import draft_kind, installed_folder
from models.pairs.pair import PairSpec

LONGEST = 32
"""Tokens after which a word is ended."""
MOSTLY = 0.5
"""Share of tokens of `USUAL` that must be shared for drafting within the shared vocabulary."""

USUAL = """Sure! Here is a short explanation of how this works, and an example:

1. The function takes a list of numbers, which may be empty.
2. It returns the sum of those that are larger than zero, as a whole number.

```python
def total(values: list[float]) -> int:
    return round(sum(value for value in values if value > 0))
```

The capital of France is Paris. Although it isn't the largest city in Europe, about 2.1 million people live
there, and many more come to see it every year. However, you should not travel in August: "all is closed".
"""
"""A typical answer. Not in other scripts: many tokenizers encode those as bytes, which all share."""


class Translation:
    """Translation between the tokenizers of a target and a draft model, both Hugging Face's."""

    def __init__(self, target: Any, draft: Any):
        self.target, self.draft = TokenBytes(target), TokenBytes(draft)
        ours, theirs = self.target.by_bytes(), self.draft.by_bytes()
        seen = {ours[each]: theirs[each] for each in ours.keys() & theirs.keys()}
        named = {name: i for i, name in self.draft.special.items()}
        self.special = {i: named[name] for i, name in self.target.special.items() if name in named}
        """From the target's special tokens to the draft model's."""
        if self.target.end is not None and self.draft.end is not None:
            self.special.setdefault(self.target.end, self.draft.end)
        self.targets = {theirs: ours for ours, theirs in reversed(self.special.items())}
        """From the draft model's special tokens to the target's."""
        seen |= {ours: theirs for theirs, ours in self.targets.items()}
        shared = sorted(seen.items())
        self.shared = [ours for ours, _ in shared], [theirs for _, theirs in shared]
        usual = self.target.nearest(USUAL)
        self.fertility = len(self.draft.nearest(USUAL)) / len(usual)
        self.known = sum(token in seen for token in usual) / len(usual)
        """Share of the target's tokens of `USUAL` that are shared."""
        self.by_vocabulary = self.known >= MOSTLY
        """Whether the draft model drafts within the shared vocabulary; else its text is translated."""

    def transcript(self) -> "Words":
        return Words(self)


class Words:
    """The transcript of one text, translated word by word."""

    def __init__(self, translation: Translation):
        self._between = translation
        self._forget()

    def unread(self, tokens: Sequence[int]) -> int:
        return len(tokens) - (len(self._read) if self._continues(tokens) else 0)

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        if not self._continues(tokens):
            self._forget()
        for token in tokens[len(self._read) :]:
            if self._word and self._ends_before(token):
                text = self._between.target.of(self._word).decode(errors="replace")
                self._ids += self._ids_of(self._word) or self._between.draft.nearest(text)
                self._word = []
            self._word.append(token)
            self._read.append(token)
        last = self._ids_of(self._word)
        if last is None:
            return []
        read, start = [*self._ids, *last], self._between.draft.start
        return read if read[:1] == start else [*start, *read]

    def to_target(self, drafted: Sequence[int]) -> list[int]:
        target, draft = self._between.target, self._between.draft
        written, end = self._cut(drafted)
        if not written:
            return end
        word = self._word
        more = _whole(target.of(word) + draft.of(written))[len(target.of(word)) :]
        together = decoded(target.of(word) + more)
        tokens = together and target.encode(together)
        if tokens and list(tokens[: len(word)]) == word:
            return [*tokens[len(word) :], *end]
        alone = decoded(more)  # the target splits the joined word differently: encode the new part alone
        tokens = alone and target.encode(alone)
        return [*tokens, *end] if tokens else []

    def _forget(self) -> None:
        self._read: list[int] = []
        """The target's tokens read so far."""
        self._ids: list[int] = []
        """The draft model's tokens of all words but the last."""
        self._word: list[int] = []
        """The target's tokens of the last word, which may continue."""

    def _continues(self, tokens: Sequence[int]) -> bool:
        return list(tokens[: len(self._read)]) == self._read

    def _ends_before(self, token: int) -> bool:
        """Whether the word ends before this token."""
        if self._is_special([token]) or self._is_special(self._word):
            return True
        begins = self._between.target.bytes.get(token, b"")[:1] in (b" ", b"\n")
        return begins or (len(self._word) >= LONGEST and self._ids_of(self._word) is not None)

    def _is_special(self, word: Sequence[int]) -> bool:
        return bool(word) and word[0] in self._between.target.special

    def _ids_of(self, word: Sequence[int]) -> Sequence[int] | None:
        """A word in the draft model's tokens; None if it ends within a character."""
        if self._is_special(word):
            known = self._between.special.get(word[0])
            return [] if known is None else [known]
        text = decoded(self._between.target.of(word))
        return None if text is None else self._between.draft.nearest(text)

    def _cut(self, drafted: Sequence[int]) -> tuple[list[int], list[int]]:
        """The tokens before a special token, and the target's token for that one, if it has one."""
        written: list[int] = []
        for token in drafted:
            if token in self._between.draft.special:
                own = self._between.targets.get(token)
                return written, [] if own is None else [own]
            written.append(token)
        return written, []


def translation(target: Path, draft: Path, fitting: str | None) -> tuple[Translation | None, tuple[str, ...]]:
    """The translation between a target and its draft model, None if both encode text alike; and notes.

    Args:
        fitting: a draft with the target's tokenizer, to recommend in notes and errors.

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
    spells = f"it writes text, {found.fertility:.1f} of its tokens for one of the target's"
    how = "it guesses among those" if found.by_vocabulary else spells
    better = f" The draft {fitting} reads text as the target does." if fitting else ""
    return found, (
        f"The draft has another tokenizer. Both know {found.known:.0%} of a usual text's tokens: {how}. "
        f"Every draft waits for the text, and fewer of its tokens are accepted.{better}",
    )


def bridged(spec: PairSpec) -> tuple[str, ...]:
    """Notes on the tokenizers of an installed pair; raises ModelsError as `translation`."""
    if spec.draft is None or draft_kind(spec) not in DRAFT_MODELS:
        return ()
    with ExitStack() as stack:
        paths = [installed_folder(source, spec) for source in (spec.target, spec.draft)]
        target, draft = (stack.enter_context(small_files(path)) for path in paths)
        return translation(target, draft, fitting_draft(spec.target))[1]


@contextmanager
def small_files(path: Path) -> Iterator[Path]:
    """A folder with a model's config.json and tokenizer; for a GGUF file a temporary one."""
    if path.is_dir():
        yield path
        return
    from models.load.gguf import unpack  # MLX takes a moment to load

    with TemporaryDirectory(prefix="mlx-spec-") as folder:
        unpack(path, Path(folder))
        yield Path(folder)


def _whole(text: bytes) -> bytes:
    """The bytes without an incomplete character at the end."""
    for cut in range(4):
        if decoded(text[: len(text) - cut]) is not None:
            return text[: len(text) - cut]
    return text
