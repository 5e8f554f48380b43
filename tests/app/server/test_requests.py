"""What the engine is asked by a request, without a server."""

import json
from dataclasses import replace
from time import thread_time
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.requests import Request

from app.server.body import MOST_VALUES, Body, read_body
from app.server.chat_completions import ChatRequest
from app.server.completions import CompletionRequest
from app.server.conversation import Function, called, described, for_template
from app.server.events import AnswerRequest
from app.server.messages import MessagesRequest
from app.server.problem import Problem
from app.server.responses import ResponsesRequest
from app.server.sampling import MOST_TOKENS, Draft, Sampling, Unsupported
from app.settings.options import AnswerOptions

ASKED = {"role": "user", "content": "hello"}
THOUGHT, OTHER_THOUGHT = (
    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": text}]} for text in ("hm", "so")
)
REFUSAL = {"type": "refusal", "refusal": "I will not."}
FUNCTION: dict[str, Any] = {"name": "f"}


def messages_of(kind: type[ChatRequest | MessagesRequest | ResponsesRequest], **fields: Any) -> list[Any]:
    asked = kind.model_validate(fields)
    if isinstance(asked, ChatRequest):
        return [*map(for_template, asked.messages)]
    return [*(asked.messages if isinstance(asked, ResponsesRequest) else asked.conversation)]


def test_a_request_overrides_the_options_that_it_names_and_has_a_seed_of_its_own() -> None:
    defaults = AnswerOptions(draft_length=3, top_p=0.5, min_p=0.1, repetition_context=9, verify="block")
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "repetition_penalty": 1.1, "seed": 7}
    asked = Sampling(**given, draft=Draft(length="auto", drafter="lookup"))
    wanted = replace(defaults, **given, draft_length=None, drafter="lookup", max_tokens=MOST_TOKENS)
    assert asked.options(defaults, None) == wanted
    bare = [Sampling().options(defaults, 10**30) for _ in range(2)]
    assert bare[0].seed != bare[1].seed
    assert {replace(each, seed=0) for each in bare} == {replace(defaults, max_tokens=10**30)}


def test_minus_one_is_no_limit_no_filter_and_no_seed_as_other_servers_read_it() -> None:
    asked = CompletionRequest.model_validate(
        {"prompt": "x", "max_tokens": -1, "top_k": -1, "seed": -1, "repeat_penalty": 1.1}
    )
    options = asked.options(AnswerOptions(top_k=40), asked.max_tokens)
    assert asked.seed is None
    assert (options.max_tokens, options.top_k, options.repetition_penalty) == (MOST_TOKENS, 0, 1.1)


@pytest.mark.parametrize("name", ["repeat_last_n", "repetition_context_size"])
def test_a_request_says_how_far_a_penalty_looks_back(name: str) -> None:
    for given, penalty, looked_back in ((64, 1.1, 64), (-1, 1.1, 2**20), (0, 1, 1), (None, 1.1, 9)):
        asked = Sampling.model_validate({"repeat_penalty": 1.1, name: given})
        options = asked.options(AnswerOptions(repetition_context=9), None)
        assert (options.repetition_penalty, options.repetition_context) == (penalty, looked_back)
    with pytest.raises(Problem, match=r"repeat_last_n is -2; it must be between .*; 0 is no penalty, -1 the"):
        Sampling.model_validate({name: -2}).options(AnswerOptions(), None)


@pytest.mark.parametrize(("given", "used"), [(0, 0), (1e-8, 0.0001), (0.5, 0.5)])
def test_a_temperature_that_is_too_small_to_compute_with_is_the_smallest(given: float, used: float) -> None:
    """Programs that test models send 1e-8, and a top_p of 0."""
    options = Sampling(temperature=given, top_p=given).options(AnswerOptions(), None)
    assert (options.temperature, options.top_p) == (used, used or 0.0001)


def test_a_conversation_is_the_same_to_the_template_in_each_api() -> None:
    call = called("c1", "weather", {"city": "Rom"})
    wanted = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "what now"},
        {"role": "assistant", "content": "so", "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "content": "rain", "tool_call_id": "c1"},
        {"role": "user", "content": "and?"},
    ]
    system, user, answer, result, last = wanted
    function = {"name": "weather", "arguments": '{"city": "Rom"}'}
    developer = system | {"role": "developer"}
    parts = user | {"content": [{"type": "text", "text": "what "}, {"type": "text", "text": "now"}]}
    calling = answer | {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    assert messages_of(ChatRequest, messages=[developer, parts, calling, result, last]) == wanted
    blocks = [
        {"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rom"}},
    ]  # fmt: skip
    given = [
        {"type": "text", "text": "and?"}, {"type": "tool_result", "tool_use_id": "c1", "content": "rain"},
    ]  # fmt: skip
    turns = [parts, {"role": "assistant", "content": blocks}, {"role": "user", "content": given}]
    assert messages_of(MessagesRequest, system="be brief", messages=turns, max_tokens=1) == wanted
    items = [
        developer, parts, THOUGHT, {"role": "assistant", "content": "so"},
        {"type": "function_call", "call_id": "c1", **function},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"}, {"content": "and?"},
    ]  # fmt: skip
    assert messages_of(ResponsesRequest, input=items) == wanted


def test_the_template_gets_no_field_of_a_function_that_the_request_leaves_out() -> None:
    (tool,) = described([Function.model_validate({"name": "f", "strict": True})])
    assert tool == {"type": "function", "function": {"name": "f"}}


def test_only_items_of_one_answer_become_one_message_and_what_openai_encrypted_none() -> None:
    answers = [{"role": "assistant", "content": text} for text in ("one", "two")]
    call = {"type": "function_call", "call_id": "c1", **FUNCTION}
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABo"}
    result = {"type": "function_call_output", "call_id": "c1", "output": ""}
    items = [sealed, THOUGHT, OTHER_THOUGHT, call, call, result, ASKED, *answers, THOUGHT, ASKED, call]
    called_once = {"role": "assistant", "content": "", "tool_calls": [called("c1", "f", {})]}
    calls = called_once | {"tool_calls": called_once["tool_calls"] * 2, "reasoning_content": "hm\nso"}
    given, system = {"role": "tool", "content": "", "tool_call_id": "c1"}, {"role": "system", "content": "x"}
    found = messages_of(ResponsesRequest, input=items, instructions="x")
    assert found == [system, calls, given, ASKED, *answers, ASKED, called_once]
    assert messages_of(ResponsesRequest, input="hello") == [ASKED]


def test_what_another_model_refused_to_say_is_text_of_the_conversation() -> None:
    refused: list[Any] = [{"role": "assistant", "content": "I will not."}, ASKED]
    parts = [{"role": "assistant", "content": [REFUSAL]}, ASKED]
    assert messages_of(ChatRequest, messages=parts) == messages_of(ResponsesRequest, input=parts) == refused
    alone = {"role": "assistant", "content": None, "refusal": "I will not."}
    assert messages_of(ChatRequest, messages=[alone, ASKED]) == refused


def test_many_thoughts_are_joined_in_less_time_than_it_takes_to_read_them() -> None:
    """Each copied with all before it, those of one request kept other answers waiting for six seconds."""
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "a" * 700}]}
    body, begun = json.dumps({"input": [thought] * 9_999 + [{**ASKED, "role": "assistant"}]}), thread_time()
    asked, read = ResponsesRequest.model_validate_json(body), thread_time()
    (message,) = asked.messages
    assert thread_time() - read < read - begun
    assert message == {
        "role": "assistant",
        "content": "hello",
        "reasoning_content": "\n".join(["a" * 700] * 9_999),
    }


@pytest.mark.parametrize(
    ("kind", "name", "tool"),
    [
        (ChatRequest, "messages", {"function": FUNCTION}),
        (MessagesRequest, "messages", FUNCTION),
        (ResponsesRequest, "input", {"type": "function", **FUNCTION}),
    ],
)
def test_the_messages_and_tools_of_a_request_are_limited(kind: type[Body], name: str, tool: Any) -> None:
    most = {name: [ASKED] * 10_000, "tools": [tool] * 256, "max_tokens": 1}
    kind.model_validate(most)
    for more in ({name: [ASKED] * 10_001}, {"tools": [tool] * 257}):
        with pytest.raises(ValidationError):
            kind.model_validate(most | more)


async def read(sent: bytes, kind: type[Body]) -> Body:
    async def receive() -> Any:
        return {"type": "http.request", "body": sent}

    headers = [(b"content-type", b"application/json")]
    return await read_body(Request({"type": "http", "headers": headers}, receive), kind)


async def test_a_body_of_too_many_small_values_is_refused_before_they_are_read() -> None:
    """Eight megabytes of them kept all streams waiting for seconds."""
    for value in ("[]", "{}", '""', '[{"\\\\":1}]'):
        sent = f'{{"prompt": [{",".join([value] * (MOST_VALUES + 1))}]}}'.encode()
        with pytest.raises(Problem, match="200,000 texts") as refused:
            await read(sent, CompletionRequest)
        assert refused.value.status == 413
    text = '[{"\\\\' * MOST_VALUES
    sent = json.dumps({"prompt": text, "stop": ["a"] * 16}).encode()
    assert await read(sent, CompletionRequest) == CompletionRequest(prompt=text, stop=["a"] * 16)


@pytest.mark.parametrize("calls", [1, 2])
async def test_arguments_of_too_many_small_values_in_all_calls_are_refused(calls: int) -> None:
    """Other answers waited for them for five seconds."""
    values = ",".join(["[]"] * (MOST_VALUES // calls))
    call = {"function": {"name": "f", "arguments": f'{{"a": [{values}]}}'}}
    chat = {"messages": [ASKED, {"role": "assistant", "tool_calls": [call] * calls}]}
    items = [{"type": "function_call", "call_id": "1", **call["function"]}] * calls
    for sent, kind in ((chat, ChatRequest), ({"input": [ASKED, *items]}, ResponsesRequest)):
        with pytest.raises(Problem, match="arguments.*more than 200,000 lists"):
            await read(json.dumps(sent).encode(), kind)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"prompt": [True]}, "prompt[0]: Input should be a valid integer, not true."),
        ({"prompt": [1, 1.5]}, "prompt[1]: Input should be a valid integer, not 1.5."),
        ({"prompt": [[7, False]]}, "prompt[0][1]: Input should be a valid integer, not false."),
        ({"prompt": ["a", 1]}, "prompt[1]: Input should be a valid string, not 1."),
        ({"prompt": ["a", [1]]}, "prompt[1]: Input should be a valid string."),
        ({"prompt": "x", "draft": {"length": True}},
         "draft.length: Input should be a valid integer, not true."),
        ({"prompt": "x", "draft": {"length": "long"}}, "draft.length: Input should be 'auto', not \"long\"."),
        ({"prompt": "x", "max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1, not 0."),
        ({"prompt": "x", "top_p": "hot"}, 'top_p: Input should be a valid number, not "hot".'),
        ({"prompt": "x", "top_p": "x" * 99}, "top_p: Input should be a valid number."),
        ({"prompt": "x", "echo": True}, "echo: true is not supported here. Leave it out."),
        ({"prompt": "x", "logit_bias": {"5": 1}},
         "logit_bias: this value is not supported here. Leave it out."),
    ],
    ids=str,
)  # fmt: skip
async def test_a_refused_value_is_in_the_message_as_the_client_wrote_it(fields: Any, wanted: str) -> None:
    with pytest.raises(Problem) as refused:
        await read(json.dumps(fields).encode(), CompletionRequest)
    assert refused.value.message == wanted


async def test_a_refused_object_is_named_by_its_type() -> None:
    asked = {"messages": [ASKED], "response_format": {"type": "json_object"}}
    with pytest.raises(Problem) as refused:
        await read(json.dumps(asked).encode(), ChatRequest)
    assert refused.value.message == 'response_format: "json_object" is not supported here. Leave it out.'


OFF: dict[str, Any] = {
    "typical_p": 1.0, "typ_p": 1, "tfs_z": 1.0, "top_n_sigma": -1, "logit_bias": {}, "bad_words": [],
    "allowed_token_ids": [], "stop_token_ids": [], "ignore_eos": False, "use_beam_search": False,
    "response_format": {"type": "text"},
}  # fmt: skip


@pytest.mark.parametrize("field", Unsupported.model_fields)
def test_every_api_refuses_what_would_change_the_text_and_reads_values_that_change_nothing(
    field: str,
) -> None:
    asked: list[tuple[type[Sampling], dict[str, Any]]] = [
        (ChatRequest, {"messages": [ASKED]}), (CompletionRequest, {"prompt": "x"}),
        (ResponsesRequest, {"input": "x"}), (MessagesRequest, {"messages": [ASKED], "max_tokens": 1}),
    ]  # fmt: skip
    form = field.startswith(("guided", "grammar", "json", "structured", "regex", "ebnf"))
    for kind, needed in asked:
        for value in (None, OFF.get(field, "" if form else 0)):
            kind.model_validate({**needed, field: value})
        with pytest.raises(ValidationError, match=f"{field}\n.*not supported here"):
            kind.model_validate({**needed, field: 2})


WRONG = [{}] * 1000


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (CompletionRequest, {"prompt": WRONG}),
        (CompletionRequest, {"prompt": [[1] * 1000 + ["a"]]}),
        (ChatRequest, {"messages": [{**ASKED, "content": WRONG, "tool_calls": WRONG}]}),
        (MessagesRequest, {"messages": [{**ASKED, "content": WRONG}], "system": WRONG, "max_tokens": 1}),
        (ResponsesRequest, {"input": [{"output": WRONG}], "include": WRONG}),
        (AnswerRequest, {"call": "1", "answer": {"id": 0, "prompt": WRONG, "documents": WRONG}}),
    ],
)
def test_a_list_ends_at_its_first_wrong_value(kind: type[Body], fields: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        kind.model_validate_json(json.dumps(fields))
    assert refused.value.error_count() < 10
