"""Anthropic's `/v1/messages` and OpenAI's `/v1/responses`, by raw HTTP."""

import json
import re
from typing import Any

import pytest

from app.server.problem import Problem
from tests.app.server.running_server import RunningServer
from tests.app.server.test_chat_completions import TOO_LONG

MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"
SAID = [{"role": "user", "content": "hello there"}]


def test_tokens_are_counted_as_an_answer_counts_them_and_nothing_is_read(tiny_server: RunningServer) -> None:
    system, begun = {"system": "be brief"}, {"role": "assistant", "content": "It is"}
    for asked in ({"messages": SAID}, {"messages": [*SAID, begun], **system}):
        usage = tiny_server.ask(MESSAGES, {**asked, "max_tokens": 1}).json["usage"]
        read = tiny_server.metric("prompt_tokens_total")
        found = tiny_server.ask(f"{MESSAGES}/count_tokens", asked).json
        assert found == {"input_tokens": usage["input_tokens"] + usage["cache_read_input_tokens"]}
        assert tiny_server.metric("prompt_tokens_total") == read
    long = {"messages": [{"role": "user", "content": "word " * 6000}], **system}
    assert tiny_server.ask(f"{MESSAGES}/count_tokens", long).json["input_tokens"] > 6000
    refused = tiny_server.ask(f"{MESSAGES}/count_tokens", {"messages": []})
    assert refused.status == 400 and refused.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("stream", [False, True])
def test_clients_recognize_a_conversation_that_is_longer_than_the_context(
    stream: bool, tiny_server: RunningServer
) -> None:
    said = [{"role": "system", "content": "be brief"}, *TOO_LONG, {"role": "user", "content": "hello"}]
    bodies = {
        "/v1/chat/completions": {"messages": said}, "/v1/completions": {"prompt": "word " * 6000},
        RESPONSES: {"input": said}, MESSAGES: {"messages": said, "max_tokens": 9},
    }  # fmt: skip
    for path, body in bodies.items():
        answer = tiny_server.ask(path, {**body, "stream": stream})
        assert answer.status == 400 and answer.headers["x-should-retry"] == "false"
        assert re.search(r"prompt is too long: \d+ tokens > 4096", answer.error["message"])
        assert "maximum context length" in answer.error["message"]
        assert path == MESSAGES or answer.error["code"] == "context_length_exceeded"


def test_the_beginning_of_an_answer_reaches_the_model_and_a_call_is_none(
    scripted_server: RunningServer,
) -> None:
    begun: list[dict] = [{"role": "user", "content": "echo"}, {"role": "assistant", "content": "It is"}]
    found = scripted_server.ask(MESSAGES, {"messages": begun, "max_tokens": 100}).json
    assert found["content"][0]["text"].startswith("echo|It is|") and found["stop_reason"] == "end_turn"
    call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rom"}}
    begun[1] = {"role": "assistant", "content": [{"type": "text", "text": "echo"}, call]}
    found = scripted_server.ask(MESSAGES, {"messages": begun, "max_tokens": 100}).json
    assert '{"city": "Rom"}' in found["content"][0]["text"]


def test_an_answer_that_the_context_ends_says_so(scripted_server: RunningServer) -> None:
    asked = {"messages": [{"role": "user", "content": "full"}], "max_tokens": 100}
    assert scripted_server.ask(MESSAGES, asked).json["stop_reason"] == "model_context_window_exceeded"
    streamed = scripted_server.ask(MESSAGES, {**asked, "stream": True}).events
    assert streamed[-2]["delta"]["stop_reason"] == "model_context_window_exceeded"


def test_images_in_what_a_tool_gave_are_refused_in_the_words_that_claude_code_takes_them_out_at(
    scripted_server: RunningServer,
) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    given = {"type": "tool_result", "tool_use_id": "t1", "content": [image]}
    asked = {"messages": [{"role": "user", "content": [given]}], "max_tokens": 9}
    answer = scripted_server.ask(MESSAGES, asked)
    assert answer.status == 400 and "Could not process image" in answer.error["message"]


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": None}, {"messages": []}, {"tool_choice": {"type": "any"}},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        {"temperature": 11}, {"stop_sequences": [""]}, {"stop_sequences": ["x"] * 17},
    ],
    ids=lambda change: str(change)[:40],
)  # fmt: skip
def test_anthropics_clients_get_anthropics_errors(change: dict, scripted_server: RunningServer) -> None:
    answer = scripted_server.ask(MESSAGES, {"messages": SAID, "max_tokens": 5, **change})
    assert answer.status == 400 and answer.json["type"] == "error"
    assert answer.error["type"] == "invalid_request_error" and answer.error["message"]


def test_anthropics_errors_have_their_types(scripted_server: RunningServer) -> None:
    model = scripted_server.ask("/v1/models/claude", headers={"anthropic-version": "2023-06-01"})
    assert (model.json["type"], model.error["type"]) == ("error", "not_found_error")
    assert scripted_server.ask("/v1/models/claude").error["code"] == "model_not_found"
    other = scripted_server.ask(MESSAGES, {"messages": SAID, "max_tokens": 5, "model": "claude"})
    assert (other.status, other.error["type"]) == (404, "not_found_error")
    evil = scripted_server.ask(MESSAGES, {}, {"Origin": "http://evil.example"})
    assert (evil.status, evil.error["type"]) == (403, "permission_error")
    said = [{"role": "user", "content": "crash"}]
    events = scripted_server.ask(MESSAGES, {"messages": said, "max_tokens": 50, "stream": True}).events
    assert events[-1]["type"] == "error" and events[-1]["error"]["type"] == "overloaded_error"
    others = {
        401: "authentication_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
    }
    for status, kind in others.items():
        assert Problem(status, "").body(anthropic=True)["error"] == {"type": kind, "message": ""}


def test_a_response_is_what_the_chat_answers(tiny_server: RunningServer) -> None:
    asked = {"seed": 3, "temperature": 0.9}
    text = tiny_server.text("hello there", **asked, max_tokens=12)
    asked["max_output_tokens"] = 12
    part = {"type": "input_text", "text": "hello there"}
    for given in ("hello there", [{"role": "user", "content": [part]}]):
        whole = tiny_server.ask(RESPONSES, {"input": given, **asked}).json
        (message,) = whole["output"]
        assert message["content"][0]["text"] == text and message["role"] == "assistant"
        assert whole["status"] == "incomplete"
        assert whole["incomplete_details"] == {"reason": "max_output_tokens"}
        used = whole["usage"]
        assert used["output_tokens"] == 12 and used["total_tokens"] == used["input_tokens"] + 12 > 13
    streamed = tiny_server.ask(RESPONSES, {"input": "hello there", **asked, "stream": True})
    assert streamed.names == [
        "response.created", "response.in_progress", "response.output_item.added",
        "response.content_part.added", "response.output_text.delta", "response.output_text.done",
        "response.content_part.done", "response.output_item.done", "response.incomplete",
    ]  # fmt: skip
    events = streamed.events
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == text == events[-1]["response"]["output"][0]["content"][0]["text"]
    last = {event["type"].removeprefix("response."): event for event in events}
    assert last["output_text.done"]["text"] == last["content_part.done"]["part"]["text"] == text
    for name in ("content_part.added", "output_text.delta", "output_text.done", "content_part.done"):
        assert (last[name]["output_index"], last[name]["content_index"]) == (0, 0)
    assert last["output_item.done"]["output_index"] == 0 and last["output_text.delta"]["logprobs"] == []


NOTHING_MORE = {
    "/v1/chat/completions": {
        "messages": SAID, "tool_choice": "auto", "response_format": {"type": "text"}, "logit_bias": {},
        "frequency_penalty": 0, "presence_penalty": 0, "modalities": ["text"], "functions": [],
        "seed": 2**64 - 1, "n": 2, "stop": [], "grammar": "", "parallel_tool_calls": False, "mirostat": 0,
    },
    "/v1/completions": {"prompt": "hello", "echo": False, "best_of": 1, "logit_bias": {}, "stop": None},
    RESPONSES: {
        "input": "hello", "tool_choice": "auto", "text": {"format": {"type": "text"}}, "top_logprobs": 0,
        "background": False, "previous_response_id": "", "conversation": None, "include": [],
        "prompt": None,
    },
    MESSAGES: {
        "messages": SAID, "tool_choice": {"type": "auto"}, "stop_sequences": [],
        "output_config": {"effort": "low", "format": None},
    },
}  # fmt: skip


@pytest.mark.parametrize("path", NOTHING_MORE)
def test_what_clients_send_though_they_ask_for_nothing_more_is_accepted(
    path: str, tiny_server: RunningServer
) -> None:
    answer = tiny_server.ask(path, {**NOTHING_MORE[path], "max_tokens": 2, "max_output_tokens": 2})
    assert answer.status == 200, answer.body


def test_tools_that_may_not_be_called_are_left_out(tiny_server: RunningServer) -> None:
    """The tiny pair refuses tools."""
    function = {"name": "f", "parameters": {}}
    typed = {"type": "function", "function": function}, {"type": "function", **function}
    for path, body, tool, none in (
        ("/v1/chat/completions", {"messages": SAID, "max_tokens": 2}, typed[0], "none"),
        (RESPONSES, {"input": "hello", "max_output_tokens": 2}, typed[1], "none"),
        (MESSAGES, {"messages": SAID, "max_tokens": 2}, function, {"type": "none"}),
    ):
        asked = [{**body, "tools": [tool], "tool_choice": choice} for choice in (None, none)]
        assert [tiny_server.ask(path, each).status for each in asked] == [400, 200]


def test_calls_are_items_and_the_tools_of_others_are_not_shown(scripted_server: RunningServer) -> None:
    tools = [{"type": "web_search"}, {"type": "function", "name": "weather", "parameters": {}}]
    whole = scripted_server.ask(RESPONSES, {"input": "call", "tools": tools}).json
    assert [item["type"] for item in whole["output"]] == ["message", "function_call", "function_call"]
    assert whole["status"] == "completed"
    assert whole["output"][1]["name"] == "weather" and json.loads(whole["output"][1]["arguments"]) == {"x": 1}
    events = scripted_server.ask(RESPONSES, {"input": "call", "tools": tools, "stream": True}).events
    assert events[-1]["response"]["output"][1]["name"] == "weather"
    added = [event["output_index"] for event in events if event["type"] == "response.output_item.added"]
    assert added == [0, 1, 2]
    done = [each["arguments"] for each in events if each["type"] == "response.function_call_arguments.done"]
    assert done == [call["arguments"] for call in whole["output"][1:]]


def test_a_response_repeats_what_was_asked_for(scripted_server: RunningServer) -> None:
    function = {"type": "function", "name": "weather", "description": "Of today.", "parameters": {}}
    asked = {
        "instructions": "be brief", "max_output_tokens": 5, "metadata": {"for": "a test"},
        "temperature": 0.5, "top_p": 0.9, "tool_choice": "auto", "tools": [function],
    }  # fmt: skip
    whole = scripted_server.ask(RESPONSES, {"input": "hello", **asked}).json
    assert {name: whole[name] for name in asked} == asked
    bare = scripted_server.ask(RESPONSES, {"input": "hello"}).json
    assert (bare["temperature"], bare["tool_choice"], bare["tools"]) == (0, "auto", [])


def test_a_text_that_was_cut_off_is_an_incomplete_item(scripted_server: RunningServer) -> None:
    tools = [{"type": "function", "name": "weather"}]
    for said, given, status in (("x", 2, "incomplete"), ("x", 99, "completed"), ("call", 2, "completed")):
        asked = {"input": said, "max_output_tokens": given, "tools": tools}
        assert scripted_server.ask(RESPONSES, asked).json["output"][0]["status"] == status, asked


def test_the_tools_of_anthropic_are_not_shown(scripted_server: RunningServer) -> None:
    tools = [
        {"type": "web_search_20250305", "name": "web_search"}, {"type": "browser_toolset_20260801"},
        {"type": "custom", "name": "weather", "input_schema": {}},
    ]  # fmt: skip
    asked = {"messages": [{"role": "user", "content": "call"}], "max_tokens": 99, "tools": tools}
    assert scripted_server.ask(MESSAGES, asked).json["content"][1]["name"] == "weather"


@pytest.mark.parametrize(
    "change",
    [
        {"previous_response_id": "resp_1"}, {"background": True}, {"input": []},
        {"text": {"format": {"type": "json_schema"}}},
        {"input": [{"role": "tool", "content": "x"}]}, {"tool_choice": "required"}, {"conversation": "c"},
        {"top_logprobs": 2}, {"include": ["message.output_text.logprobs"]}, {"prompt": {"id": "p"}},
    ],
    ids=lambda change: str(change)[:40],
)  # fmt: skip
def test_a_response_that_cannot_be_is_refused(change: dict, scripted_server: RunningServer) -> None:
    answer = scripted_server.ask(RESPONSES, {"input": "hello", **change})
    assert answer.status == 400 and answer.error["message"] and answer.error["param"]


def test_a_reference_to_an_earlier_response_is_refused_with_what_to_send(
    scripted_server: RunningServer,
) -> None:
    items = [{"role": "user", "content": "hello"}, {"type": "item_reference", "id": "fc_1"}]
    answer = scripted_server.ask(RESPONSES, {"input": items})
    assert answer.status == 400 and answer.error["param"] == "input[1].type"
    assert "Nothing is kept here" in answer.error["message"] and "store: false" in answer.error["message"]


@pytest.mark.parametrize(
    ("said", "code", "why"), [("crash", "server_error", "SIGKILL"), ("refuse", "invalid_prompt", "")]
)
def test_a_response_that_fails_says_in_its_stream_whether_to_ask_again(
    said: str, code: str, why: str, scripted_server: RunningServer
) -> None:
    last = scripted_server.ask(RESPONSES, {"input": said, "stream": True}).events[-1]
    error = last["response"]["error"]
    assert last["type"] == "response.failed" and error["code"] == code and why in error["message"]


@pytest.mark.parametrize("path", [MESSAGES, f"{MESSAGES}/count_tokens"])
def test_the_beginning_of_an_answer_to_nothing_is_refused(path: str, tiny_server: RunningServer) -> None:
    body = {"messages": [{"role": "assistant", "content": "Hello"}], "max_tokens": 5}
    answer = tiny_server.ask(path, body)
    assert answer.status == 400 and "nothing to answer" in answer.error["message"]


@pytest.mark.parametrize("arguments", ["[1]", "5", "{", "[" * 100_000, {"a": 1}, [1]])
def test_arguments_of_a_call_that_are_no_object_are_refused(
    arguments: Any, scripted_server: RunningServer
) -> None:
    call = {"type": "function_call", "name": "f", "call_id": "1", "arguments": arguments}
    answer = scripted_server.ask(RESPONSES, {"input": [call, {"role": "user", "content": "hello"}]})
    assert answer.status == 400 and answer.error["param"] == "input[0].arguments"
    chat = [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}]
    answer = scripted_server.chat("", messages=chat)
    assert answer.status == 400
    assert answer.error["param"] == "messages[0].tool_calls[0].function.arguments"
    if not isinstance(arguments, str):
        assert "send them as a text that holds a JSON object" in answer.error["message"]


def test_an_answer_that_was_cut_off_says_so_though_it_has_calls(scripted_server: RunningServer) -> None:
    asked = {"messages": [{"role": "user", "content": "call"}], "max_tokens": 2}
    message = scripted_server.ask(MESSAGES, {**asked, "tools": [{"name": "f", "input_schema": {}}]}).json
    assert (message["stop_reason"], message["content"][-1]["type"]) == ("max_tokens", "tool_use")
    tools = [{"type": "function", "function": {"name": "f"}}]
    (choice,) = scripted_server.chat("call", max_tokens=2, tools=tools).json["choices"]
    assert choice["finish_reason"] == "length" and choice["message"]["tool_calls"]
