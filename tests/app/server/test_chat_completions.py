"""`/v1/chat/completions` of a running server, by raw HTTP."""

from typing import Any

import pytest

from tests.app.run_command import Cli
from tests.app.server.running_server import CHAT, RunningServer, chat_body
from tests.app.tiny_pair import TinyPair


@pytest.mark.parametrize("temperature", [0, 0.9])
def test_a_seed_gives_the_text_that_generate_gives(
    temperature: float, tiny_server: RunningServer, tiny_pair: TinyPair, run: Cli
) -> None:
    given = f"generate --seed 7 --temperature {temperature} --max-tokens 24 --no-draft --prompt"
    wanted = run.json(given, "hello there", *tiny_pair.arguments)
    asked = {"seed": 7, "temperature": temperature, "max_tokens": 24}
    answer = tiny_server.chat("hello there", **asked)
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    whole = answer.json
    assert whole["object"] == "chat.completion" and whole["id"].startswith("chatcmpl-")
    (choice,) = whole["choices"]
    assert choice["message"]["role"] == "assistant" and choice["message"]["content"] == wanted["text"]
    assert choice["finish_reason"] == wanted["finish_reason"]
    assert whole["usage"]["prompt_tokens"] == wanted["stats"]["prompt_tokens"]
    assert whole["usage"]["completion_tokens"] == wanted["stats"]["tokens"]
    assert whole["usage"]["total_tokens"] == wanted["stats"]["prompt_tokens"] + wanted["stats"]["tokens"]
    assert whole["timings"]["seed"] == 7 and whole["timings"]["draft_n"] > 0
    assert whole["timings"]["draft_n_accepted"] <= whole["timings"]["draft_n"]
    streamed = tiny_server.chat("hello there", **asked, stream=True)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.headers["cache-control"] == "no-cache" and streamed.headers["x-accel-buffering"] == "no"
    assert streamed.streamed_text == wanted["text"]


def test_a_stream_is_role_text_finish_and_done_with_usage_where_it_was_asked_for(
    tiny_server: RunningServer,
) -> None:
    asked = {"max_tokens": 12, "stream": True, "stream_options": {"include_usage": True}}
    answer = tiny_server.chat("hello", **asked)
    assert answer.body.endswith(b"data: [DONE]\n\n")
    first, *texts, finish, usage = answer.events
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert all(event["choices"][0]["finish_reason"] is None for event in (first, *texts))
    assert {event["id"] for event in answer.events} == {first["id"]}
    assert {event["object"] for event in answer.events} == {"chat.completion.chunk"}
    assert all(event["usage"] is None for event in (first, *texts, finish))
    assert finish["choices"][0] == {
        "index": 0, "delta": {}, "logprobs": None, "finish_reason": "length",
    }  # fmt: skip
    assert finish["timings"]["predicted_n"] == 12
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 12
    assert all("usage" not in event for event in tiny_server.chat("hello", max_tokens=2, stream=True).events)


def test_an_answer_ends_before_a_stop_text_and_counts_the_same_drafted_or_not(
    tiny_server: RunningServer,
) -> None:
    whole = tiny_server.text("hello there", max_tokens=24)
    stop = whole[9:12]
    found = [
        tiny_server.chat("hello there", max_tokens=24, stop=[stop, "never said"], draft=draft).json
        for draft in ({"length": 0}, {"length": 7}, {"drafter": "lookup"})
    ]
    for each in found:
        assert each["choices"][0]["message"]["content"] == whole[: whole.index(stop)]
        assert each["choices"][0]["finish_reason"] == "stop"
        assert each["timings"]["draft_n_accepted"] <= each["usage"]["completion_tokens"]
    assert len({each["usage"]["completion_tokens"] for each in found}) == 1
    assert found[0]["timings"]["draft_n"] == 0 and found[1]["timings"]["draft_n"] > 0


def test_several_answers_of_a_prompt_have_the_seeds_that_follow(tiny_server: RunningServer) -> None:
    asked = {"temperature": 0.9, "max_tokens": 12}
    alone = [tiny_server.chat("hello there", seed=seed, **asked).json for seed in (7, 8, 9)]
    texts = [each["choices"][0]["message"]["content"] for each in alone]
    assert len(set(texts)) == 3
    whole = tiny_server.chat("hello there", seed=7, n=3, **asked).json
    choices = whole["choices"]
    assert [each["message"]["content"] for each in choices] == texts
    assert [each["index"] for each in choices] == [0, 1, 2]
    assert [each["timings"]["seed"] for each in choices] == [7, 8, 9]
    usage = {"prompt_tokens": alone[0]["usage"]["prompt_tokens"], "completion_tokens": 36}
    assert {name: whole["usage"][name] for name in usage} == usage
    streamed = {"stream": True, "stream_options": {"include_usage": True}}
    *events, counted = tiny_server.chat("hello there", seed=7, n=3, **asked, **streamed).events
    found = ["", "", ""]
    for event in events:
        found[event["choices"][0]["index"]] += event["choices"][0]["delta"].get("content", "")
    assert found == texts and {name: counted["usage"][name] for name in usage} == usage
    roles = [each for event in events if "role" in (each := event["choices"][0])["delta"]]
    assert [each["index"] for each in roles] == [0, 1, 2]


def test_logprobs_are_the_same_drafted_or_not_and_come_with_their_text(tiny_server: RunningServer) -> None:
    asked = {"max_tokens": 16, "seed": 5, "temperature": 0.9, "logprobs": True, "top_logprobs": 2}
    drafted, plain = (
        tiny_server.chat("hello there", **asked, draft=draft).json["choices"][0]
        for draft in ({"length": 5}, {"drafter": "none"})
    )
    content = drafted["logprobs"]["content"]
    assert len(content) == 16 and all(each["logprob"] < 0 for each in content)
    for each in content:
        assert len(each["top_logprobs"]) == 2 and each["logprob"] <= each["top_logprobs"][0]["logprob"]
    others = plain["logprobs"]["content"]
    assert [each["token"] for each in content] == [each["token"] for each in others]
    logprobs = [[each["logprob"] for each in one] for one in (content, others)]
    assert logprobs[0] == pytest.approx(logprobs[1], abs=1e-3)
    text = drafted["message"]["content"].encode()
    assert [each["bytes"] is None for each in content] == ["\ufffd" in each["token"] for each in content]
    if all(each["bytes"] is not None for each in content):
        assert bytes(byte for each in content for byte in each["bytes"]) == text
    streamed: list[Any] = []
    for event in tiny_server.chat("hello there", **asked, draft={"length": 5}, stream=True).events:
        streamed += (event["choices"][0]["logprobs"] or {"content": []})["content"]
    assert [each["token"] for each in streamed] == [each["token"] for each in content]
    without = tiny_server.chat("hello there", max_tokens=2).json["choices"][0]
    assert without["logprobs"] is None


def test_what_was_read_before_is_not_read_again(tiny_server: RunningServer) -> None:
    long = "the small model guesses ahead " * 20
    tiny_server.chat(long, max_tokens=4)
    answer = tiny_server.chat(long + "and more", max_tokens=4).json
    usage, timings = answer["usage"], answer["timings"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > usage["prompt_tokens"] // 2
    assert timings["cache_n"] == usage["prompt_tokens_details"]["cached_tokens"]
    assert timings["cache_n"] + timings["prompt_n"] == usage["prompt_tokens"]


TOO_LONG = [{"role": role, "content": "word " * 800} for role in ("user", "assistant") * 2]
"""Would fit without its first turns."""
BY_NAME: list[dict[str, Any]] = [
    {"messages": []}, {"messages": [*TOO_LONG, {"role": "user", "content": "hello"}]},
    {"messages": [{"role": "user", "content": "word " * 6000}]}, {"temperature": -1}, {"temperature": "hot"},
    {"max_tokens": 0}, {"max_completion_tokens": 0}, {"seed": -5}, {"n": 0}, {"n": 33}, {"logprobs": 1},
    {"top_logprobs": 3}, {"top_logprobs": 21, "logprobs": True}, {"frequency_penalty": 0.5},
    {"presence_penalty": 0.5}, {"logit_bias": {"5": 100}}, {"response_format": {"type": "json_object"}},
    {"grammar": "root ::= 'yes'"}, {"json_schema": {}}, {"guided_json": {"type": "object"}},
    {"guided_regex": "a+"}, {"guided_choice": ["a", "b"]}, {"guided_grammar": "x"},
    {"structured_outputs": {"choice": ["a"]}}, {"modalities": ["text", "audio"]}, {"audio": {"voice": "x"}},
    {"functions": [{"name": "f"}]}, {"tools": [{"type": "function", "function": {"name": "f"}}]},
    {"tool_choice": "required"}, {"stop": ""}, {"stop": ["x"] * 17}, {"continue_final_message": True},
    {"continue_final_message": True, "messages": [{"role": "assistant", "content": "It"}]},
    {"draft": {"drafters": "none"}}, {"prediction": {"content": "x" * 100_001}},
    {"prediction": {"content": "x"}, "draft": {"drafter": "none"}},
    {"prediction": {"content": "x"}, "draft": {"drafter": "model"}},
]  # fmt: skip
REFUSED = [
    *((change, next(iter(change))) for change in BY_NAME),
    ({"messages": [{"role": "boss", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "user", "content": [{"text": "b"}]}]}, "messages[0].content[0].type"),
    ({"stop": ["x" * 1001]}, "stop[0]"),
    ({"stop": ["x", ""]}, "stop[1]"),
    ({"draft": {"length": 99}}, "draft.length"),
    ({"draft": {"length": "long"}}, "draft.length"),
    ({"draft": {"verify": "never"}}, "draft.verify"),
    ({"draft": {"drafter": "nobody"}}, "draft.drafter"),
]


@pytest.mark.parametrize(("change", "param"), REFUSED, ids=[str(change)[:40] for change, _ in REFUSED])
def test_what_cannot_be_done_is_refused_and_says_what(
    change: dict[str, Any], param: str, tiny_server: RunningServer
) -> None:
    for stream in (False, True):
        answer = tiny_server.ask(CHAT, {**chat_body("hello"), "max_tokens": 2, **change, "stream": stream})
        assert answer.status == 400, answer.body
        assert answer.error["type"] == "invalid_request_error" and answer.error["param"] == param
        said = answer.error["message"]
        in_words = "The prompt is too long", "There is no drafter nobody", "This model cannot call tools"
        assert said.startswith((param, *in_words)), "its place comes first"
        assert ": is" not in said and answer.headers["x-should-retry"] == "false", "a sentence has a subject"


def test_a_mistake_is_told_of_the_name_and_the_type_that_were_meant(tiny_server: RunningServer) -> None:
    asked = {**chat_body("hello"), "draft": {"draft-length": 3}}
    said = tiny_server.ask(CHAT, asked).error["message"]
    assert said.startswith("draft: there is no field 'draft-length' here.")
    said = tiny_server.ask(CHAT, {**chat_body("hello"), "stop": ["x"] * 17}).error["message"]
    assert said.startswith("stop: List should have at most 16 items")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"\xff\xfe", b'{"messages": NaN}', b'{"a": ' * 1000 + b"1" + b"}" * 1000,
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1e400}',
    ],
)  # fmt: skip
def test_a_body_that_is_no_request_is_refused(body: bytes, tiny_server: RunningServer) -> None:
    answer = tiny_server.ask(CHAT, body, {"Content-Type": "application/json"})
    assert answer.status == 400 and answer.error["message"], answer.body


def test_another_model_is_not_found(tiny_server: RunningServer) -> None:
    listed = tiny_server.ask("/v1/models").json
    (model,) = listed["data"]
    assert model["id"] == "target" and model["context_length"] == 4096
    assert tiny_server.ask(f"/v1/models/{model['id']}").json == model
    assert tiny_server.chat("hello", model=model["id"], max_tokens=2).status == 200
    for answer in (tiny_server.chat("x", model="../etc"), tiny_server.ask("/v1/models/gpt-x")):
        assert answer.status == 404 and answer.error["code"] == "model_not_found"
        assert "target" in answer.error["message"]


def test_a_slash_at_the_end_names_the_same_model_or_models(tiny_server: RunningServer) -> None:
    for path in ("/v1/models", "/v1/models/target"):
        assert tiny_server.ask(f"{path}/").json == tiny_server.ask(path).json


def test_an_answers_beginning_is_continued_if_the_request_says_so(tiny_server: RunningServer) -> None:
    begun = {"role": "assistant", "content": "It is"}
    asked = {"messages": [*chat_body("hello")["messages"], begun], "max_tokens": 9, "n": 2}
    (block,) = tiny_server.ask("/v1/messages", asked).json["content"]
    continued = tiny_server.ask(CHAT, {**asked, "continue_final_message": True})
    assert [each["message"]["content"] for each in continued.json["choices"]] == [block["text"]] * 2
    again = tiny_server.ask(CHAT, {**asked, "continue_final_message": False})
    assert again.json["choices"][0]["message"]["content"] != block["text"]


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/v1/messages", "/api/chat"])
def test_a_client_with_a_wrong_address_is_told_the_right_ones(path: str, tiny_server: RunningServer) -> None:
    assert tiny_server.ask(path, b"--1", {"Content-Type": "multipart/form-data; boundary=1"}).status == 404
    answer = tiny_server.ask(path, chat_body("hello"))
    assert answer.status == 404 and f"no {path} here" in answer.error["message"]
    listed = answer.error["message"].partition("has ")[2].rstrip(".").split(", ")
    public = {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/models"}
    assert {*listed} == {*public, "/v1/messages/count_tokens", "/health", "/metrics"}


def test_a_client_with_a_wrong_method_is_told_the_right_one(tiny_server: RunningServer) -> None:
    answer = tiny_server.ask("/v1/messages")
    assert answer.status == 405 and answer.headers["allow"] == "POST"
    assert answer.error["message"] == "GET is not allowed at /v1/messages. Send POST."
    answer = tiny_server.ask("/v1/models", {})
    assert answer.status == 405 and "GET" in answer.headers["allow"]
    assert answer.error["message"] == "POST is not allowed at /v1/models. Send GET."
