"""`/v1/completions`, `prediction`, and tool calls, by raw HTTP."""

from pathlib import Path
from typing import Any

import pytest

from app.engine.fill_in import FORMATS
from tests.app.run_command import Cli
from tests.app.server.running_server import CHAT, RunningServer
from tests.app.tiny_pair import TinyPair

PATH = "/v1/completions"


def test_text_is_continued_as_generate_raw_does(
    tiny_server: RunningServer, tiny_pair: TinyPair, run: Cli
) -> None:
    said = "def f(x):<|user|>"
    given = "generate --raw --seed 3 --temperature 0.9 --max-tokens 20 --prompt"
    wanted = run.json(given, said, *tiny_pair.arguments)
    asked = {"prompt": said, "seed": 3, "temperature": 0.9, "max_tokens": 20}
    answer = tiny_server.ask(PATH, asked).json
    assert answer["object"] == "text_completion" and answer["id"].startswith("cmpl-")
    assert answer["choices"][0]["text"] == wanted["text"]
    assert answer["usage"]["prompt_tokens"] == wanted["stats"]["prompt_tokens"]
    without_a_limit = tiny_server.ask(PATH, {"prompt": "abc"}).json
    assert without_a_limit["usage"]["completion_tokens"] == 16
    events = tiny_server.ask(PATH, {**asked, "stream": True}).events
    assert "".join(event["choices"][0]["text"] for event in events) == wanted["text"]
    assert events[-1]["choices"][0]["finish_reason"] == wanted["finish_reason"] and events[-1]["timings"]
    assert all(event["choices"][0]["logprobs"] is None for event in events)
    stop = wanted["text"][5:8]
    (stopped,) = tiny_server.ask(PATH, {**asked, "stop": stop}).json["choices"]
    assert (stopped["text"], stopped["finish_reason"]) == (wanted["text"].partition(stop)[0], "stop")


def test_several_prompts_have_a_choice_each_also_as_token_ids(tiny_server: RunningServer) -> None:
    def texts(prompt: Any, **more: Any) -> list[str]:
        answer = tiny_server.ask(PATH, {"prompt": prompt, **more})
        assert answer.status == 200, answer.body
        return [choice["text"] for choice in answer.json["choices"]]

    alone = [texts("abc")[0], texts("the small model")[0]]
    assert texts(["abc", "the small model"]) == alone
    ids = [[5, 6, 7], [8, 9]]
    assert texts(ids, max_tokens=8) == [texts(each, max_tokens=8)[0] for each in ids]
    events = tiny_server.ask(PATH, {"prompt": ["abc", "the small model"], "stream": True}).events
    streamed = ["", ""]
    for event in events:
        streamed[event["choices"][0]["index"]] += event["choices"][0]["text"]
    assert streamed == alone


def test_logprobs_have_a_place_in_the_text_for_each_token(tiny_server: RunningServer) -> None:
    asked = {"prompt": "the small model", "max_tokens": 8, "logprobs": 1}
    choice = tiny_server.ask(PATH, asked).json["choices"][0]
    found = choice["logprobs"]
    assert [len(found[name]) for name in ("tokens", "token_logprobs", "top_logprobs")] == [8] * 3
    for token, place in zip(found["tokens"], found["text_offset"], strict=True):
        assert "\ufffd" in token or choice["text"][place:].startswith(token)
    # At temperature 0 the likeliest token is chosen.
    assert [max(each.values()) for each in found["top_logprobs"]] == found["token_logprobs"]
    events = tiny_server.ask(PATH, {**asked, "stream": True}).events
    told = [each for event in events if (each := event["choices"][0]["logprobs"])]
    assert [place for each in told for place in each["text_offset"]] == found["text_offset"]
    none = tiny_server.ask(PATH, {**asked, "logprobs": 0}).json["choices"][0]["logprobs"]
    assert [dict([pair]) for pair in zip(none["tokens"], none["token_logprobs"], strict=True)] == (
        none["top_logprobs"]
    )


def test_every_prompt_has_n_answers_in_turn_and_counts_once(tiny_server: RunningServer) -> None:
    prompts, asked = ["abc", "the small model"], {"temperature": 0.9, "max_tokens": 8}
    alone = [tiny_server.ask(PATH, {"prompt": p, "seed": s, **asked}).json for p in prompts for s in (3, 4)]
    found = tiny_server.ask(PATH, {"prompt": prompts, "seed": 3, "n": 2, "best_of": 2, **asked}).json
    assert [c["text"] for c in found["choices"]] == [each["choices"][0]["text"] for each in alone]
    assert [c["index"] for c in found["choices"]] == [0, 1, 2, 3]
    counted = [each["usage"]["prompt_tokens"] for each in alone[::2]]
    assert found["usage"]["prompt_tokens"] == sum(counted) and found["usage"]["completion_tokens"] == 32


def test_a_suffix_is_filled_in_as_complete_does_also_as_plugins_of_editors_ask(
    tiny_server: RunningServer, tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    before, after = "def f(x):\n    ", "\n    return x"
    (tmp_path / "main.py").write_text(before + after)
    options = "--draft-length 3 --temperature 0.9 --seed 3 --at 2:5 --max-tokens 12 --file"
    text = run(f"complete {options}", tmp_path / "main.py", *tiny_pair.arguments).out
    asked = {"prompt": before, "suffix": after, "seed": 3, "temperature": 0.9, "max_tokens": 12}
    assert tiny_server.ask(PATH, asked).json["choices"][0]["text"] == text
    first, last, middle = FORMATS[0]
    marked = {"prompt": f"{first}{before}{last}{after}{middle}", "suffix": None}
    stops = [*FORMATS[0], "<|endoftext|>", "<|fim_pad|>", "\n\n", "\r\n\r\n", "/src/", "```"]
    for change in ({"stop": ["\n\n"]}, {**marked, "stop": stops}):
        events = tiny_server.ask(PATH, {**asked, **change, "stream": True}).events
        assert "".join(event["choices"][0]["text"] for event in events) == text
    without = tiny_server.ask(PATH, {**asked, "suffix": ""}).json["choices"][0]["text"]
    assert text not in ("", without)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": ""}, {"prompt": []}, {"prompt": [-1]}, {"prompt": [10**9]}, {"prompt": [1.5]},
        {"prompt": [[]]}, {"prompt": ["a"] * 33}, {"prompt": ["a", [1]]}, {"prompt": None},
        {"suffix": "x", "prompt": ["a"]}, {"echo": True}, {"best_of": 2}, {"logprobs": 21},
        {"n": 33}, {"prompt": ["a"] * 8, "n": 5}, {"best_of": 2, "n": 3}, {"logprobs": -1},
    ],
    ids=lambda change: str(change)[:30],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(change: dict[str, Any], tiny_server: RunningServer) -> None:
    """A list of prompts kills mlx-lm's server, so check that the next request is answered."""
    answer = tiny_server.ask(PATH, {"prompt": "abc", **change})
    assert answer.status == 400 and answer.error["message"], answer.body
    assert tiny_server.ask(PATH, {"prompt": "abc", "max_tokens": 1}).status == 200


@pytest.mark.parametrize(
    ("path", "change", "param"),
    [
        (PATH, {"prompt": ""}, "prompt"), (PATH, {"prompt": []}, "prompt"),
        (PATH, {"prompt": [10**9]}, "prompt"), (PATH, {"prompt": "word " * 6000}, "prompt"),
        (PATH, {"prompt": "x", "draft": {"drafter": "nobody"}}, "draft.drafter"),
        ("/v1/responses", {"input": "word " * 6000}, "input"),
        ("/v1/responses", {"input": "x", "tools": [{"type": "function", "name": "f"}]}, "tools"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_refusal_by_the_engine_names_the_field(
    path: str, change: dict[str, Any], param: str, tiny_server: RunningServer
) -> None:
    answer = tiny_server.ask(path, change)
    assert answer.status == 400 and answer.error["param"] == param, answer.body


def test_more_prompts_than_may_wait_are_refused_together(scripted_server: RunningServer) -> None:
    assert "makes 40 answers" in scripted_server.ask(PATH, {"prompt": ["hello"] * 40}).error["message"]
    assert scripted_server.ask(PATH, {"prompt": ["hello"] * 6}).status == 429
    assert scripted_server.metric("num_requests_waiting") == 0


def test_a_prediction_is_drafted_from_and_counted(tiny_server: RunningServer) -> None:
    draft = {"drafter": "lookup", "length": 7}
    asked = {"max_tokens": 48, "seed": 5, "temperature": 0.9, "draft": draft}
    without = tiny_server.chat("hello there", **asked).json
    text = without["choices"][0]["message"]["content"]
    assert "completion_tokens_details" not in without["usage"]
    for content in (text, [{"type": "text", "text": text[:9]}, {"type": "text", "text": text[9:]}]):
        predicted = tiny_server.chat(
            "hello there", **asked, prediction={"type": "content", "content": content}
        ).json
        assert predicted["choices"][0]["message"]["content"] == text
        details, timings = predicted["usage"]["completion_tokens_details"], predicted["timings"]
        assert details["accepted_prediction_tokens"] == timings["draft_n_accepted"]
        assert details["accepted_prediction_tokens"] > without["timings"]["draft_n_accepted"] + 8
        rejected = timings["draft_n"] - timings["draft_n_accepted"]
        assert details["rejected_prediction_tokens"] == rejected
    raw = [
        tiny_server.ask(PATH, {**asked, "prompt": "abc", **more}).json
        for more in ({}, {"prediction": {"content": text}})
    ]
    assert raw[0]["choices"][0]["text"] == raw[1]["choices"][0]["text"]
    assert ["completion_tokens_details" in each["usage"] for each in raw] == [False, True]


TYPED: dict[str, Any] = {"type": "function", "name": "weather"}
CALLING: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (CHAT, {"tools": [{"function": TYPED}]}, {"parallel_tool_calls": False}, "tool_calls"),
    ("/v1/responses", {"tools": [TYPED]}, {"parallel_tool_calls": False}, "function_call"),
    (
        "/v1/messages",
        {"tools": [{"name": "weather"}], "max_tokens": 99},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        "tool_use",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "asked", "one", "kind"), CALLING)
def test_an_answer_has_its_first_call_only_if_the_request_says_one_at_a_time(
    path: str, asked: dict[str, Any], one: dict[str, Any], kind: str, scripted_server: RunningServer
) -> None:
    said = [{"role": "user", "content": "call"}]
    for more, count in (({}, 2), (one, 1)):
        body = {"messages": said, "input": said, **asked, **more}
        whole, events = (scripted_server.ask(path, {**body, "stream": stream}) for stream in (False, True))
        if path == CHAT:
            (choice,) = whole.json["choices"]
            assert choice["finish_reason"] == kind and len(choice["message"][kind]) == count
            deltas = [event["choices"][0]["delta"] for event in events.events]
            assert [len(each[kind]) for each in deltas if kind in each] == [count]
        else:
            parts = whole.json.get("output") or whole.json["content"]
            assert [part["type"] for part in parts].count(kind) == count
            begun = [each.get("item") or each.get("content_block") for each in events.events
                     if each["type"] in ("response.output_item.added", "content_block_start")]  # fmt: skip
            assert [part["type"] for part in begun].count(kind) == count
        if path == "/v1/responses":
            assert whole.json["parallel_tool_calls"] is (count == 2)
