"""Between two tokenizers, by the bytes that their tokens stand for.

A text is translated word by word: a word is read anew while it grows, what is before it stays. A token that
both sides know is the same bytes to both; special tokens are the same where they have one name, or end a
text. What begins a text is not: chats have it before every turn, where another model sees a new text.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from models.errors import BadChoice
from models.load.token_bytes import TokenBytes, decoded
from models.load.tokenizers import differences, read_tokenizer, same_files
from models.pairs.catalogue import fitting_draft
from models.pairs.drafter_kinds import MODEL
from models.pairs.folder import folder_kind
from models.pairs.installed import installed_folder
from models.pairs.pair import PairSpec

LONGEST = 32
"""Tokens after which a word without an end is taken for ended."""
MOSTLY = 0.5
"""Share of a usual text's tokens that both must know to guess among those."""

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
"""What answers look like; texts of other scripts are bytes to many tokenizers, which all know."""


class Translation:
    """Between a target's tokenizer and a draft model's: Hugging Face's."""

    def __init__(self, target: Any, draft: Any):
        self.target, self.draft = TokenBytes(target), TokenBytes(draft)
        ours, theirs = self.target.by_bytes(), self.draft.by_bytes()
        seen = {ours[each]: theirs[each] for each in ours.keys() & theirs.keys()}
        self.special = self._special()
        """The draft model's token for a special one of the target's."""
        self.targets = {theirs: ours for ours, theirs in reversed(self.special.items())}
        """And back."""
        seen |= {ours: other for ours, other in self.special.items() if other not in seen.values()}
        self._shared = sorted(seen.items())
        usual = self.target.nearest(USUAL)
        self._fertility = len(self.draft.nearest(USUAL)) / len(usual)
        self.known = sum(token in seen for token in usual) / len(usual)
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
        if self.target.end is not None and self.draft.end is not None:
            found.setdefault(self.target.end, self.draft.end)
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
        if not written:
            return end
        word = [] if self._is_special(self._word) else self._word
        more = _whole(target.of(word) + draft.of(written))[len(target.of(word)) :]
        together = decoded(target.of(word) + more)
        tokens = together and target.encode(together)
        if tokens and list(tokens[: len(word)]) == word:
            return [*tokens[len(word) :], *end]
        alone = decoded(more)  # the target has cut its word in another way: it goes on from there
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
        text = decoded(self._between.target.of(word))
        return None if text is None else self._between.draft.nearest(text)

    def _text(self, errors: str) -> str:
        return self._between.target.of(self._word).decode(errors=errors)

    def _cut(self, drafted: Sequence[int]) -> tuple[list[int], list[int]]:
        """What was written before a special token; the target's own of that, where it has one."""
        written: list[int] = []
        for token in drafted:
            if token in self._between.draft.special:
                own = self._between.targets.get(token)
                return written, [] if own is None else [own]
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
    spells = f"it writes text, {found.fertility:.1f} of its tokens for one of the target's"
    how = "it guesses among those" if found.by_vocabulary else spells
    better = f" The draft {fitting} reads text as the target does." if fitting else ""
    return found, (
        f"The draft has another tokenizer. Both know {found.known:.0%} of a usual text's tokens: {how}. "
        f"Every draft waits for the text, and is right less often.{better}",
    )


def bridged(spec: PairSpec) -> tuple[str, ...]:
    """What there is to say of the tokenizers of a pair that is here; raises ModelsError as `translation`."""
    if spec.draft is None:
        return ()
    with ExitStack() as stack:
        paths = [installed_folder(source, spec) for source in (spec.target, spec.draft)]
        target, draft = (stack.enter_context(small_files(path)) for path in paths)
        return translation(target, draft, fitting_draft(spec.target))[1]


@contextmanager
def small_files(path: Path) -> Iterator[Path]:
    """The folder with a model's config.json and tokenizer."""
    if path.is_dir():
        yield path
        return
    from models.load.checkpoint import opened  # MLX takes a moment to load

    with opened(path) as checkpoint:
        yield checkpoint.folder


def _whole(text: bytes) -> bytes:
    """Without the half of a character at its end."""
    for cut in range(min(4, len(text) + 1)):
        if decoded(text[: len(text) - cut]) is not None:
            return text[: len(text) - cut]
    return text
