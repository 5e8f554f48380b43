"""Each kind of model gets a gap in the format it was trained on."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer
from tokenizers.processors import TemplateProcessing

from app.engine.chat_prompt import FillIn
from app.engine.events import TurnEnded
from app.engine.fill_in import FORMATS, Format, fill_in_ids, fill_in_stops
from app.engine.protocol import Answer
from app.engine.session import Session
from app.shell.errors import BadInput
from mlx_spec.types import Options
from tests.app.scripted_pair import ScriptedEngine, ScriptedPair
from tests.models.tiny_models import SPECIAL, make_tokenizer

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


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


def test_a_session_ends_what_fills_a_gap_at_the_marks_of_the_model(tmp_path: Path) -> None:
    found = tokenizer(tmp_path, *FORMATS[0], "<|file_sep|>")
    end = found.convert_tokens_to_ids("<|file_sep|>")
    engine = ScriptedEngine([*found.encode("return"), end, *found.encode(" more")], 3)
    pair = ScriptedPair(engine, tokenizer=found)  # type: ignore[arg-type]
    *_, ended = Session(cast("LoadedPair", pair)).answer(Answer(0, FillIn("a", "b"), Options(max_tokens=40)))
    assert engine.prompts == [fill_in_ids(found, FillIn("a", "b"))]
    assert isinstance(ended, TurnEnded)
    assert end in engine.options[-1].stop_tokens
