"""What models of each family write is parted into thought, text and calls, and sent back as they read it."""

# ruff: noqa: E501

import json
from typing import TYPE_CHECKING, Any

import pytest

from app.engine.chat_prompt import chat_ids
from app.engine.events import Piece, TextAdded, TurnEnded, text_of
from app.engine.message import Message
from app.engine.protocol import Answer
from app.engine.thinking import thought_of
from app.settings.options import AnswerOptions
from tests.app.engine.families import FAMILIES, Make
from tests.app.scripted_pair import scripted_session

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

SHAPE = {
    "path": {"type": "string"}, "n": {"type": "integer"}, "on": {"type": "boolean"}, "list": {"type": "array"},
    "some": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "text": {"type": ["string", "null"]},
}  # fmt: skip
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {
        "name": name, "parameters": {"type": "object", "properties": SHAPE},
    }} for name in ("f", "g")
]  # fmt: skip
USER: Message = {"role": "user", "content": "hi"}
HARD = {"path": '  a "b"\n{c} </x> é日\n', "n": 3, "on": True, "list": [[1], {"k": "v"}]}
FLAT = json.dumps(HARD, ensure_ascii=False)


def say(
    tokenizer: "TokenizerWrapper", said: str, messages: tuple[Message, ...] = (USER,), most: int = 2000,
    stop: tuple[str, ...] = (),
) -> tuple[list[Piece], TurnEnded]:  # fmt: skip
    """What comes of an answer, drafted and not."""
    tokens = [*tokenizer.encode(said, add_special_tokens=False), tokenizer.eos_token_id]
    out: list[tuple[list[Piece], TurnEnded]] = []
    for draft_length in (0, 3):
        session, _ = scripted_session(
            tokens, draft_length, tokenizer=tokenizer, stop_tokens=frozenset(tokens[-1:])
        )
        asked = Answer(0, messages, AnswerOptions(max_tokens=most), (), "", stop, tuple(TOOLS), parts=True)
        *events, ended = session.answer(asked)
        assert isinstance(ended, TurnEnded)
        out.append(([p for event in events if isinstance(event, TextAdded) for p in event.pieces], ended))
    assert parted(*out[0]) == parted(*out[1])
    return out[0]


def parted(pieces: list[Piece], ended: TurnEnded) -> tuple[str, str, list[tuple[str, dict[str, Any]]]]:
    thought, text = (text_of(p for p in pieces if p.thought is which) for which in (True, False))
    return thought, text, [(call.name, json.loads(call.arguments)) for call in ended.tool_calls]


XML = (
    "<tool_call>\n<function=f>\n<parameter=path>\n"
    + HARD["path"]
    + "\n</parameter>\n<parameter=n>\n3\n</parameter>\n"
    '<parameter=on>\ntrue\n</parameter>\n<parameter=list>\n[[1], {"k": "v"}]\n</parameter>\n</function>\n</tool_call>'
)
ARGS = "".join(
    f"<arg_key>{key}</arg_key>\n<arg_value>{value if isinstance(value, str) else json.dumps(value)}</arg_value>\n"
    for key, value in HARD.items()
)
CALLED = [("f", HARD)]
SAID = [
    ("qwen3", f'<think>\nhm\n</think>\n\nSo.\n<tool_call>\n{{"name": "f", "arguments": {FLAT}}}\n</tool_call>',
     ("hm", "So.", CALLED)),
    ("qwen3", '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_call>\n{"name": "g", "arguments": {"n": 1}}\n</tool_call>',
     ("", "", [("f", {}), ("g", {"n": 1})])),
    ("qwen3", "<think>\nA call is <tool_call> and so on.\n</think>\n\nDone.", ("A call is <tool_call> and so on.", "Done.", [])),
    ("qwen3", "It begins with <think> and ends with </think>.", ("", "It begins with <think> and ends with </think>.", [])),
    ("qwen3", "<think>\n\n</think>\n\nHi", ("", "Hi", [])),
    ("qwen3.5", f"hm\n</think>\n\n{XML}", ("hm", "", CALLED)),
    ("qwen3.5", f"hm {XML.replace('</tool_call>', '')}</tool_call>", ("hm", "", CALLED)),
    ("qwen3.5", "</think>\n\n" + XML.removeprefix("<tool_call>\n"), ("", "", CALLED)),
    ("qwen3.5", "</think>\n\n<tool_call>\n<function=f>\n<parameter=some>\n5\n</parameter>\n<parameter=text>\n5\n</parameter>\n</function>\n</tool_call>",
     ("", "", [("f", {"some": 5, "text": "5"})])),
    ("qwen3.5", "</think>\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>", ("", "", [("f", {})])),
    ("gpt-oss", f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{FLAT}",
     ("hm", "", CALLED)),
    ("gpt-oss", f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>{FLAT}<|call|>",
     ("hm", "", CALLED)),
    ("gpt-oss", '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>First.<|end|>'
     '<|start|>assistant<|channel|>analysis to=functions.g code<|message|>{"n": 1}', ("hm", "First.", [("g", {"n": 1})])),
    ("gpt-oss", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi to=you.", ("hm", "Hi to=you.", [])),
    ("gpt-oss", "<|channel|>final <|constrain|>json<|message|>{}", ("", "{}", [])),
    ("gpt-oss", "<|channel|>commentary to=functions.f json<|message|>{bad", ("", "{bad", [])),
    ("gpt-oss", "Hi, no channel", ("", "Hi, no channel", [])),
    ("mistral", f"Well.[TOOL_CALLS]f[ARGS]{FLAT}[TOOL_CALLS]g[ARGS]{{}}", ("", "Well.", [*CALLED, ("g", {})])),
    ("mistral", f'[TOOL_CALLS] [{{"name": "f", "arguments": {FLAT}, "id": "abcdefghi"}}]', ("", "", CALLED)),
    ("magistral", f"[THINK]hm[/THINK]So.[TOOL_CALLS]f[ARGS]{FLAT}", ("hm", "So.", CALLED)),
    ("llama3", f'{{"name": "f", "parameters": {FLAT}}}', ("", "", CALLED)),
    ("llama3", '<|python_tag|>{"type": "function", "name": "f", "parameters": {"n": "3"}}; {"name": "g", "parameters": {}}',
     ("", "", [("f", {"n": 3}), ("g", {})])),
    ("llama3", '{"name": "Ann", "arguments": {}}', ("", '{"name": "Ann", "arguments": {}}', [])),
    ("llama3", '{"x": 1} is JSON', ("", '{"x": 1} is JSON', [])),
    ("llama3", 'So {"name": "f"}', ("", 'So {"name": "f"}', [])),
    ("glm", f"\n<think>hm</think>\nSo.\n<tool_call>f\n{ARGS}</tool_call>\n<tool_call>g\n</tool_call>", ("hm", "So.", [*CALLED, ("g", {})])),
    ("gemma4", f'<|channel>thought\nhm\n<channel|><|tool_call>call:f{{path:<|"|>{HARD["path"]}<|"|>,n:3,on:true,list:[[1],{{k:<|"|>v<|"|>}}]}}<tool_call|>',
     ("hm", "", CALLED)),
    ("gemma4", "<|channel>thought\n<channel|>Hi", ("", "Hi", [])),
    ("kimi-k2", f"So.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{FLAT}<|tool_call_end|>"
     "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", ("", "So.", [*CALLED, ("g", {})])),
    ("minimax-m2", 'hm\n</think>\n\n<minimax:tool_call>\n<invoke name="f">\n<parameter name="path">' + HARD["path"] + '</parameter>\n'
     '<parameter name="n">3</parameter>\n<parameter name="on">true</parameter>\n<parameter name="list">[[1], {"k": "v"}]</parameter>\n</invoke>\n</minimax:tool_call>',
     ("hm", "", CALLED)),
    ("lfm2", '<|tool_call_start|>[f(path="  a \\"b\\"\\n{c} </x> é日\\n", n=3, on=True, list=[[1], {"k": "v"}])]<|tool_call_end|>So.', ("", "So.", CALLED)),
    ("smollm3", f'<think>\nhm\n</think>\n<tool_call>{{"name": "f", "arguments": {FLAT}}}</tool_call>', ("hm", "", CALLED)),
    ("nemotron", f'<think>\nhm\n</think>\n\n<TOOLCALL>[{{"name": "f", "arguments": {FLAT}}}]</TOOLCALL>', ("hm", "", CALLED)),
]  # fmt: skip


def ids(tokenizer: "TokenizerWrapper", *messages: Message) -> list[int]:
    return chat_ids(tokenizer, messages, 10**9, tools=TOOLS)[0]


def answered(ended: TurnEnded, pieces: list[Piece], *numbers: str) -> list[Message]:
    """The answer and the results of its calls as the APIs give them back."""
    thought, text, calls = parted(pieces, ended)
    message = Message(role="assistant", content=text)
    if thought:
        message["reasoning_content"] = thought
    message["tool_calls"] = [
        {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in zip(numbers, calls, strict=True)
    ]
    return [message, *(Message(role="tool", content="42", tool_call_id=number) for number in numbers)]


ONE_CALL = {
    "qwen3": '<think>\nhm\n</think>\n\nSo.\n<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>',
    "qwen3.5": "hm\n</think>\n\nSo.\n\n<tool_call>\n<function=f>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>",
    "gpt-oss": '<|channel|>analysis<|message|>hm<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"n": 1}',
    "llama3": '{"name": "f", "parameters": {"n": 1}}',
    "mistral": 'So.[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{"n": 1}',
    "glm": "\n<think>hm</think>\nSo.\n<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "gemma4": "<|channel>thought\nhm\n<channel|><|tool_call>call:f{n:1}<tool_call|>",
}


@pytest.mark.parametrize("family", ONE_CALL)
def test_a_call_is_given_back_as_it_was_written(made: Make, family: str) -> None:
    tokenizer, said = made(family), ONE_CALL[family]
    pieces, ended = say(tokenizer, said)
    again = ids(tokenizer, USER, *answered(ended, pieces, ended.tool_calls[0].id or "call_0123456789"))
    prompt, text = tokenizer.decode(ids(tokenizer, USER)), tokenizer.decode(again)
    assert text.startswith(prompt), (prompt, text)
    assert text[len(prompt) :].startswith(said), (text[len(prompt) :], said)


def called(number: str, name: str = "f") -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": {"n": 1}}}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_agents_send_is_accepted(made: Make, family: str) -> None:
    """Two calls at once, text and a thought beside them, instructions and the user after their results."""
    two = [called("call_0123456789"), called("toolu_01", "g")]
    conversation: list[Message] = [
        {"role": "system", "content": "Be brief."}, USER,
        {"role": "assistant", "content": "So.", "reasoning_content": "hm", "tool_calls": two},
        *({"role": "tool", "content": "42", "tool_call_id": call["id"]} for call in two),
        {"role": "system", "content": "Mind the time."}, {"role": "user", "content": "Go on."},
    ]  # fmt: skip
    assert "Mind the time." in made(family).decode(ids(made(family), *conversation))
    ids(made(family), *conversation[:-2])


def test_gpt_oss_is_given_the_thought_before_a_call(made: Make) -> None:
    tokenizer = made("gpt-oss")
    message: Message = {"role": "assistant", "content": "So.", "reasoning_content": "hm", "tool_calls": [called("1")]}  # fmt: skip
    result: Message = {"role": "tool", "content": "42", "tool_call_id": "1"}
    assert "<|channel|>analysis<|message|>hm<|end|>" in tokenizer.decode(
        ids(tokenizer, USER, message, result)
    )


def test_a_models_own_ids_are_kept(made: Make) -> None:
    said = "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>{}<|tool_call_end|>"
    assert [call.id for call in say(made("kimi-k2"), said)[1].tool_calls] == ["functions.f:3"]
    said = "[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{}[TOOL_CALLS]g[CALL_ID]ABCDEFGH1[ARGS]{}"
    assert [call.id for call in say(made("mistral"), said)[1].tool_calls] == ["abcdefghi", "ABCDEFGH1"]


def test_a_call_that_is_cut_off_is_text_without_channels(made: Make) -> None:
    said = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"n": 1}'
    tokens = len(made("gpt-oss").encode(said, add_special_tokens=False))
    pieces, ended = say(made("gpt-oss"), said, most=tokens - 1)
    assert parted(pieces, ended) == ("", '{"n": 1', []) and ended.finish_reason == "length"


def test_a_call_that_a_stop_text_cuts_is_text_unless_that_is_its_end(made: Make) -> None:
    said = ONE_CALL["glm"]
    for stop, called_with in (("</arg_value>", []), ("<arg_value>", []), ("</tool_call>", [("f", {"n": 1})])):
        pieces, ended = say(made("glm"), said, stop=(stop,))
        assert parted(pieces, ended)[2] == called_with and ended.finish_reason == "stop"
        assert called_with or text_of(pieces).endswith(said.partition("So.")[2].partition(stop)[0].rstrip())


@pytest.mark.parametrize(("family", "said", "wanted"), SAID)
def test_an_answer_is_parted(made: Make, family: str, said: str, wanted: Any) -> None:
    assert parted(*say(made(family), said)) == wanted


CHATTED = [
    ("qwen3", "<think>\nhm\n</think>\n\nHi"),
    ("qwen3.5", "hm\n</think>\n\nHi"),
    ("gpt-oss", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi"),
    ("gemma4", "<|channel>thought\nhm\n<channel|>Hi"),
    ("magistral", "[THINK]hm[/THINK]Hi"),
    ("minimax-m2", "hm\n</think>\n\nHi"),
]


@pytest.mark.parametrize(("family", "said"), [*CHATTED, ("glm", "\n<think>hm</think>\nHi")])
def test_no_stop_text_is_found_in_a_thought_or_in_blanks_around_it(
    made: Make, family: str, said: str
) -> None:
    for stop, text in (("\n", "Hi"), ("hm", "Hi\n\nno"), ("H", ""), ("assistant", "Hi\n\nno")):
        assert parted(*say(made(family), f"{said}\n\nno", stop=(stop,)))[:2] == ("hm", text)
    sign = said.removesuffix("Hi") + "<\n\nno"  # a "<" is held, as a mark may begin with it
    assert parted(*say(made(family), sign, stop=("\n",)))[:2] == ("hm", "<")


@pytest.mark.parametrize(("family", "said"), [*CHATTED, ("llama3", "<think>\nhm\n</think>\n\nHi")])
def test_no_stop_text_is_found_in_a_mark_of_several_tokens(made: Make, family: str, said: str) -> None:
    tokenizer = made(family)
    for stop in "< <| |> > [ think channel analysis assistant final </think>".split():
        assert parted(*say(tokenizer, f"{said}\n\nno", stop=(stop,))) == ("hm", "Hi\n\nno", [])


@pytest.mark.parametrize("family", ["qwen3", "gpt-oss", "gemma4", "magistral"])
@pytest.mark.parametrize("said", ["<b", "<|channel", "[THIS", "<thing>", "<"])
def test_a_stop_text_is_found_in_text_that_only_begins_like_a_mark(
    made: Make, family: str, said: str
) -> None:
    for stop in said:
        pieces, ended = say(made(family), said, stop=(stop,))
        assert parted(pieces, ended)[:2] == ("", said.partition(stop)[0])
        assert (ended.stopped_at, ended.finish_reason) == (stop, "stop")


@pytest.mark.parametrize(("family", "said"), [("gpt-oss", "Hi."), ("glm", "")])
def test_a_stop_text_ends_an_answer_without_a_header_or_of_blanks_long_before_its_end(
    made: Make, family: str, said: str
) -> None:
    tokens = made(family).encode(f"{said}\n\n" * 500, add_special_tokens=False)
    session, _ = scripted_session(tokens, tokenizer=made(family))
    asked = Answer(0, (USER,), AnswerOptions(max_tokens=5000), stop_texts=("\n\n",), parts=True)
    *events, ended = session.answer(asked)
    assert text_of(p for event in events if isinstance(event, TextAdded) for p in event.pieces) == said
    assert isinstance(ended, TurnEnded) and (ended.stopped_at, ended.finish_reason) == ("\n\n", "stop")
    assert ended.stats.tokens < len(tokens) / 5


@pytest.mark.parametrize(("family", "said"), CHATTED)
def test_a_chat_shows_the_thought_as_one_from_its_beginning_and_goes_on_with_it(
    made: Make, family: str, said: str
) -> None:
    tokenizer = made(family)
    tokens = [*tokenizer.encode(said, add_special_tokens=False), tokenizer.eos_token_id]
    session, engine = scripted_session(tokens, tokenizer=tokenizer, stop_tokens=frozenset(tokens[-1:]))
    *events, ended = session.answer(Answer(0, (USER,), AnswerOptions(max_tokens=500)))
    assert isinstance(ended, TurnEnded)
    shown = ""
    for event in (event for event in events if isinstance(event, TextAdded)):
        shown += event.text
        assert shown[thought_of(shown).answer_at :] in ("", "H", "Hi")
    thought, at, finished, thought_at = thought_of(shown)
    assert shown[thought_at:].startswith(thought)
    assert (ended.text, thought, shown[at:], finished) == (shown, "hm", "Hi", True)
    ids(tokenizer, USER, {"role": "assistant", "content": shown}, USER)
    list(session.answer(Answer(0, (USER,), AnswerOptions(max_tokens=500), begun=shown[:-1])))
    first, second = (tokenizer.decode(prompt) for prompt in engine.prompts)
    assert second == first + said[:-1]
