"""Streamed text equals the tokenizer's own decoding, for both families of tokenizers."""

import random
from typing import TYPE_CHECKING, cast

import pytest
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from app.engine.answer_reader import AnswerReader
from app.engine.answer_text import AnswerText
from app.engine.events import text_of
from tests.app.scripted_pair import ByteTokenizer

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

PIECES = ["hello", " ", "  ", "world", "\n\n", "é", "漢字", "\u200d", "ﷺ", "e\u0301", ",", " x", "0"]
PIECES += ["👩‍👩‍👧‍👦", "🇩🇪"]


def byte_level() -> Tokenizer:
    """GPT-2's family: every byte is mapped to a character."""
    vocabulary = {char: i for i, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentence_piece() -> Tokenizer:
    """Llama 2's family: spaces as ▁, unknown characters as bytes, a leading space stripped."""
    vocabulary = {f"<0x{byte:02X}>": byte for byte in range(256)}
    for char in "▁helowrdx0,":
        vocabulary[char] = len(vocabulary)
    tokenizer = Tokenizer(BPE(vocabulary, [], byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(parts)
    return tokenizer


@pytest.mark.parametrize("tokenizer", [byte_level(), sentence_piece()], ids=["byte level", "sentence piece"])
@pytest.mark.parametrize("seed", range(8))
def test_streamed_text_is_the_whole_text(tokenizer: Tokenizer, seed: int) -> None:
    rng = random.Random(seed)
    ids = tokenizer.encode("".join(rng.choices(PIECES, k=40))).ids
    answer = AnswerText(lambda tokens: tokenizer.decode(list(tokens), skip_special_tokens=False))
    parts = [text_of(answer.add(token, "plain")) for token in ids]
    assert not any("\ufffd" in part for part in parts)
    assert "".join(parts) + text_of(answer.end("plain")) == answer.text == tokenizer.decode(ids)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ([">\n\n", "Hi", "\n", "no"], "Hi"),
        ([">Hi", "\n"], "Hi"),
        ([">Hi\n", "no"], "Hi"),
        ([">", "\n\n<"], "<"),
        ([">", "\n\n<\n"], "<"),
    ],
)
def test_of_a_token_that_ends_a_mark_the_rest_is_thought_or_answer_where_stop_texts_are_looked_for(
    end: list[str], said: str
) -> None:
    tokens, shown = ["<th", "ink", ">\n", "hm", "</", "think", *end], []
    reader = AnswerReader(cast("TokenizerWrapper", ByteTokenizer()), ())
    answer = AnswerText(lambda ids: "".join(tokens[i] for i in ids), ["\n"], unseen_in=reader.unseen_in)
    for token in range(len(tokens)):
        shown += [] if answer.stopped else reader.add(answer.add(token, "plain"))
    shown += [*reader.add(answer.end("plain")), *reader.end("plain")[0]]
    assert [(piece.text, piece.thought) for piece in shown] == [("hm", True), (said, False)]


def test_text_comes_as_soon_as_it_is_certain() -> None:
    tokenizer = byte_level()
    answer = AnswerText(lambda tokens: tokenizer.decode(list(tokens)))
    ids = tokenizer.encode("aé!").ids
    assert [text_of(answer.add(token, "plain")) for token in ids] == ["a", "", "é", "!"]


@pytest.mark.parametrize("tokenizer", [byte_level(), sentence_piece()], ids=["byte level", "sentence piece"])
def test_a_character_begun_before_the_answer_hides_no_text_of_it(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("x漢hello").ids
    begun = next(n for n in range(len(ids)) if tokenizer.decode(ids[:n]).startswith("x\ufffd")) + 1
    answer = AnswerText(lambda tokens: tokenizer.decode(list(tokens)), before=ids[:begun])
    parts = [text_of(answer.add(token, "plain")) for token in ids[begun:]]
    assert "".join(parts) + text_of(answer.end("plain")) == "\ufffdhello"
