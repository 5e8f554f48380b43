"""Tool calls are taken out of an answer, wherever its pieces begin and end."""

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from app.engine.answer_reader import AnswerReader
from app.engine.events import Piece, TextAdded, ToolCall, TurnEnded, text_of
from app.engine.fitting import fitted
from app.engine.protocol import Answer
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from tests.app.engine.playing import USER, play
from tests.app.scripted_pair import ByteTokenizer, scripted_session

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "f"}}]


class Calling(ByteTokenizer):
    """Calls in Qwen's format."""

    has_tool_calling = True
    tool_call_start = "<tool_call>"
    tool_call_end = "</tool_call>"
    given: Any = None

    def tool_parser(self, text: str, tools: Any) -> Any:
        return json.loads(text)

    def apply_chat_template(self, messages: Any, add_generation_prompt: bool, tools: Any = None) -> list[int]:
        self.given = tools
        return super().apply_chat_template(messages, add_generation_prompt)


class Open(Calling):
    """Mistral's format: the call text extends to the end and may hold several calls."""

    tool_call_start = "[TOOL_CALLS]"
    tool_call_end = ""


def read(tokenizer: Calling, text: str, size: int) -> tuple[str, tuple[ToolCall, ...]]:
    reader = AnswerReader(cast("TokenizerWrapper", tokenizer), TOOLS)
    pieces = [Piece(text[at : at + size], "plain") for at in range(0, len(text), size)]
    shown = [piece for each in pieces for piece in reader.add([each])]
    rest, calls = reader.end("plain")
    return text_of(shown + rest), calls


ONE = '<tool_call>{"name": "f", "arguments": {"x": "é"}}</tool_call>'


@pytest.mark.parametrize("size", [1, 2, 7, 11, 1000])
def test_calls_are_parted_from_the_text_around_them(size: int) -> None:
    call = ToolCall("f", '{"x": "é"}')
    assert read(Calling(), f"Well <tool, {ONE} and {ONE}!", size) == ("Well <tool, and!", (call, call))
    assert read(Calling(), "no call <tool_", size) == ("no call <tool_", ())
    several = '[TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'
    assert read(Open(), several, size) == ("", (ToolCall("f", "{}"), ToolCall("g", "{}")))


@pytest.mark.parametrize(
    "call",
    [
        '{"name": "f"', "[1]", '{"name": "f"}', "null", '"text"', "3",
        *(f'{{"name": "f", "arguments": {written}}}' for written in ('"Rome"', '"3"', "[1]", "3")),
        '{"name": "f", "arguments": {"x": NaN}}', '{"name": "f", "arguments": {"x": "\\ud800"}}',
        '{"name": "\\ud800", "arguments": {}}',
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_read_or_that_no_response_can_hold_is_text(call: str) -> None:
    text = f"So: <tool_call>{call}</tool_call>, or not"
    assert read(Calling(), text, 3) == (text, ())


def test_a_call_that_its_parser_fails_on_in_any_way_is_text() -> None:
    class Counting(Calling):
        def tool_parser(self, text: str, tools: Any) -> Any:
            return {"name": "f", "arguments": {"x": int(float("inf"))}}

    assert read(Counting(), ONE, 3) == (ONE, ())


@pytest.mark.parametrize(
    ("written", "wanted"), [('"{\\"x\\": 1}"', '{"x": 1}'), ("null", "{}"), ("{}", "{}")]
)
def test_arguments_are_always_an_object(written: str, wanted: str) -> None:
    text = f'<tool_call>{{"name": "f", "arguments": {written}}}</tool_call>'
    assert read(Calling(), text, 5) == ("", (ToolCall("f", wanted),))


@pytest.mark.parametrize(
    ("schema", "given", "wanted"),
    [
        ({"type": "array"}, (1, 2), [1, 2]), ({"type": "string"}, (1, 2), "[1, 2]"),
        ({"type": "boolean"}, "True", True), ({"type": "integer"}, "5.5", "5.5"),
        ({"type": "number"}, "5", 5), ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "None", None),
        ({"anyOf": [{"type": "integer"}, {"$ref": "#/of/a/text"}]}, "5", "5"),
        ({"type": "string"}, None, None), ({"type": "string"}, ["é"], '["é"]'),
    ],
)  # fmt: skip
def test_an_argument_gets_a_type_that_its_schema_allows(schema: Any, given: Any, wanted: Any) -> None:
    tool = {"function": {"name": "f", "parameters": {"properties": {"x": schema}}}}
    assert json.dumps(fitted("f", {"x": given}, [tool])) == json.dumps({"x": wanted})


@pytest.mark.parametrize("tokenizer", [Calling(), Open()])
def test_a_call_that_is_cut_off_is_text_as_it_was_written(tokenizer: Calling) -> None:
    said = f'Well {tokenizer.tool_call_start}{{"name": "f", "arguments": {{}}}} and more'
    whole = said.removesuffix(" and more")
    for text, size in ((said, len(whole)), (said, len(whole) - 1)):
        session, _ = scripted_session(text, tokenizer=tokenizer)
        *events, ended = session.answer(Answer(0, "hi", AnswerOptions(max_tokens=size), tools=tuple(TOOLS)))
        shown = "".join(text_of(event.pieces) for event in events if isinstance(event, TextAdded))
        assert isinstance(ended, TurnEnded) and ended.finish_reason == "length"
        assert (shown, ended.tool_calls) == (text[:size], ())
    assert read(Calling(), '<tool_call>{"name"', 3) == ('<tool_call>{"name"', ()), "no tag is invented"


def test_a_session_gives_tools_to_the_template_and_their_calls_back() -> None:
    tokenizer = Calling()
    session, _ = scripted_session(f"Let me see. {ONE}", draft_length=3, tokenizer=tokenizer)
    asked = [{"role": "user", "content": "hi"}]
    *events, ended = session.answer(Answer(0, asked, AnswerOptions(max_tokens=200), tools=tuple(TOOLS)))  # type: ignore[arg-type]
    assert isinstance(ended, TurnEnded) and ended.tool_calls == (ToolCall("f", '{"x": "é"}'),)
    shown = "".join(text_of(event.pieces) for event in events if isinstance(event, TextAdded))
    assert shown == "Let me see." and tokenizer.given == TOOLS
    *_, ended = session.answer(Answer(0, asked, AnswerOptions(max_tokens=200)))  # type: ignore[arg-type]
    assert isinstance(ended, TurnEnded) and ended.tool_calls == () and ended.text.endswith(ONE)


def test_a_model_that_knows_no_tools_is_given_none() -> None:
    tokenizer = Calling()
    tokenizer.has_tool_calling = False
    session, _ = scripted_session("hi", tokenizer=tokenizer)
    with pytest.raises(BadInput, match="tools"):
        list(session.answer(Answer(0, "hello", AnswerOptions(), tools=tuple(TOOLS))))


@pytest.mark.parametrize("tools", [(), tuple(TOOLS)])
@pytest.mark.parametrize(
    ("begun", "rest"),
    [
        ("Here: ", "x"), ("It is\n\n", " so"), ("\n", "so"), ("x ", ""), ("a <", "b <tool"), ("a < ", "b"),
        ('<tool_call>{"na', "me"), ("Well <tool_call>", "x</tool_call> y"),
    ],
)  # fmt: skip
def test_nothing_of_an_answers_given_beginning_comes_again(begun: str, rest: str, tools: Any) -> None:
    session, _ = scripted_session(rest, tokenizer=Calling())
    play(session, begun=begun, parts=True, tools=tools)  # its texts add up to the rest


def test_a_call_that_an_answers_given_beginning_opens_is_a_call() -> None:
    session, _ = scripted_session(f"{ONE[5:]}<b", tokenizer=Calling())
    request = Answer(0, USER, AnswerOptions(), begun=f" {ONE[:5]}", parts=True, tools=(*TOOLS,))
    *events, ended = session.answer(request)
    assert isinstance(ended, TurnEnded) and ended.tool_calls == (ToolCall("f", '{"x": "é"}'),)
    assert text_of(piece for e in events if isinstance(e, TextAdded) for piece in e.pieces) == "<b"
