"""An answer whose beginning the request gives goes on from it, in the model's format."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.engine.chat_prompt import chat_ids
from app.engine.events import Piece, TextAdded
from app.engine.marks import FINAL
from app.engine.message import Message
from app.engine.protocol import Answer
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from tests.app.engine.families import Make
from tests.app.scripted_pair import scripted_session
from tests.models.load.tokenizer_kinds import spaced

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

USER: Message = {"role": "user", "content": "hi"}


def go_on(tokenizer: "TokenizerWrapper", begun: str) -> tuple[list[Piece], str]:
    """What is shown of an answer that goes on with "b", and its prompt."""
    session, engine = scripted_session(tokenizer.encode("b"), tokenizer=tokenizer)
    *events, _ = session.answer(Answer(0, (USER,), AnswerOptions(max_tokens=1), begun=begun, parts=True))
    pieces = [piece for event in events if isinstance(event, TextAdded) for piece in event.pieces]
    return pieces, tokenizer.decode(engine.prompts[0])


@pytest.mark.parametrize("begun", ["a", "</think>\n\na"])
def test_the_beginning_of_an_answer_ends_a_thought_that_the_template_opens(made: Make, begun: str) -> None:
    pieces, prompt = go_on(made("qwen3.5"), begun)
    assert pieces == [Piece("b", "plain")]
    assert prompt.endswith("<think>\n</think>\n\na")


@pytest.mark.parametrize(("begun", "said", "thought"), [
    ("<think>\nh", "h", True), ("<think>h", "h", True), ("<think>\n", "", True),
    ("<think>\nhm</think>\n\na", "hm</think>\n\na", False),
])  # fmt: skip
def test_the_beginning_of_an_answer_goes_on_with_the_thought_that_it_begins_with(
    made: Make, begun: str, said: str, thought: bool
) -> None:
    pieces, prompt = go_on(made("qwen3.5"), begun)
    assert pieces == [Piece("b", "plain", thought)]
    assert prompt.endswith(f"<think>\n{said}")


@pytest.mark.parametrize("begun", ["a", f"{FINAL}a"])
def test_the_beginning_of_an_answer_is_in_the_answers_channel(made: Make, begun: str) -> None:
    pieces, prompt = go_on(made("gpt-oss"), begun)
    assert pieces == [Piece("b", "plain")]
    assert prompt.endswith(f"<|start|>assistant{FINAL}a")


@pytest.mark.parametrize("opening", ["answer\n", "answer:", "</s>"])
def test_an_answer_that_is_begun_reads_as_one_text_with_the_prompt(tmp_path: Path, opening: str) -> None:
    from mlx_lm.tokenizer_utils import load

    folder = spaced(tmp_path / "puts a space before every text")
    template = "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}{{ " + repr(opening) + " }}"
    (folder / "chat_template.jinja").write_text(template)
    tokenizer = load(folder)
    session, engine = scripted_session(tokenizer.encode("b"), tokenizer=tokenizer)
    for begun in ("the small", " ahead", "\n", "größe"):
        list(session.answer(Answer(0, (USER,), AnswerOptions(max_tokens=1), begun=begun)))
        said = f"<s>{USER['content']}</s>{opening}{begun}"
        assert tokenizer.decode(engine.prompts[-1]) == tokenizer.decode(
            tokenizer.encode(said, add_special_tokens=False)
        )


def test_a_model_without_a_chat_template_names_what_continues_its_texts(tmp_path: Path) -> None:
    from mlx_lm.tokenizer_utils import load

    with pytest.raises(BadInput, match=r"--raw.*/v1/completions"):
        chat_ids(load(spaced(tmp_path / "no template")), [USER], 100)
