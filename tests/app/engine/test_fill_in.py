"""Each kind of model gets a gap in the format it was trained on."""

from pathlib import Path

import pytest
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer
from tokenizers.processors import TemplateProcessing

from app.engine.chat_prompt import FillIn
from app.engine.fill_in import FORMATS, Format, fill_in_ids, fill_in_stops
from app.shell.errors import BadInput
from tests.models.tiny_models import SPECIAL, make_tokenizer


def tokenizer(folder: Path, *special: str) -> TokenizerWrapper:
    """It begins every prompt with the first of `SPECIAL`, as Llama's do."""
    make_tokenizer(folder, special=(*SPECIAL, *special))
    found, begin = load_tokenizer(folder), SPECIAL[0]
    marks = [(begin, found.convert_tokens_to_ids(begin))]
    begins = TemplateProcessing(single=f"{begin} $A", special_tokens=marks)  # type: ignore[arg-type]
    found.backend_tokenizer.post_processor = begins
    return found


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.before)
def test_the_texts_stand_between_the_marks_of_the_model(tmp_path: Path, format_: Format) -> None:
    marks = [mark for mark in format_ if mark]
    found = tokenizer(tmp_path, *marks)
    gap = FillIn("def f(x):", f"return x{marks[0]}")
    ids = fill_in_ids(found, gap)
    one = dict(zip(marks, found.convert_tokens_to_ids(marks), strict=True))
    assert [ids.count(token) for token in one.values()] == [1] * len(marks), "a mark in a text is text"
    pieces = (format_.before + gap.before, format_.after + gap.after)
    shown = "".join(pieces) + format_.middle if format_.middle else "".join(reversed(pieces))
    assert found.decode(ids) == SPECIAL[0] + shown
    assert set(one.values()) <= fill_in_stops(found)


def test_a_model_without_marks_says_which_have_them(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Qwen2.5-Coder"):
        fill_in_ids(tokenizer(tmp_path, "<|fim_prefix|>", "<|fim_suffix|>"), FillIn("a", "b"))
