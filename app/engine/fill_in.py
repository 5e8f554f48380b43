"""Prompts that ask a code model to fill in the middle of a text.

The formats are those of the models' own cards; continuedev/continue collects them in
core/autocomplete/templating/AutocompleteTemplate.ts.
"""

from typing import TYPE_CHECKING, NamedTuple

from app.engine.chat_prompt import FillIn
from app.shell.errors import BadField

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper


class Format(NamedTuple):
    """The special tokens around the two texts."""

    before: str
    after: str
    middle: str
    """Empty: the text after the gap comes first, and the answer continues the text before it."""


FORMATS = (
    Format("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # Qwen2.5-Coder, Qwen3-Coder, CodeGemma
    Format("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder, StarCoder2, Stable Code
    Format("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek-Coder
    Format("▁<PRE>", "▁<SUF>", "▁<MID>"),  # CodeLlama
    Format("[PREFIX]", "[SUFFIX]", ""),  # Codestral
)
ENDS = (
    "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|endoftext|>", "<|im_end|>", "<|file_separator|>",
    "<file_sep>", "▁<EOT>",
)  # fmt: skip
"""Tokens that end the answer: models end the gap with them, or go on with another file."""


def fill_in_ids(tokenizer: "TokenizerWrapper", gap: FillIn) -> list[int]:
    """Token ids of a prompt that asks to fill the gap. Special tokens within its texts are plain text.

    Raises:
        BadInput: the model has no fill-in-the-middle format.
    """
    vocabulary = tokenizer.get_vocab()
    wanted = _format(vocabulary)
    start = list(tokenizer.encode("", add_special_tokens=True))
    before, after = (
        [vocabulary[mark], *tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)]
        for mark, text in ((wanted.before, gap.before), (wanted.after, gap.after))
    )
    if not wanted.middle:
        return [*start, *after, *before]
    return [*start, *before, *after, vocabulary[wanted.middle]]


def fill_in_stops(tokenizer: "TokenizerWrapper") -> frozenset[int]:
    """Token ids that end a fill-in answer, besides those that end every answer."""
    vocabulary = tokenizer.get_vocab()
    marks = [mark for mark in _format(vocabulary) if mark]
    return frozenset(vocabulary[mark] for mark in (*marks, *ENDS) if mark in vocabulary)


def _format(vocabulary: dict[str, int]) -> Format:
    for each in FORMATS:
        if all(mark in vocabulary for mark in each if mark):
            return each
    raise BadField(
        "suffix",
        "This model has no fill-in-the-middle tokens, so it cannot fill a gap. Leave out the text after it, "
        "or choose one that has them: Qwen2.5-Coder, StarCoder2, CodeGemma, DeepSeek-Coder, CodeLlama or "
        "Codestral.",
    )
