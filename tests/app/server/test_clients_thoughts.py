"""A model's thought in each API: told from the answer, streamed and not, and given back to the model."""

import json
from typing import Any

import pytest

from tests.app.server.running_server import RunningServer
from tests.app.server.test_clients import anthropic_client, openai_client

THOUGHT, TEXT = "one two three", "So it is:\n```python\nx = 1\n```"
CALL: list[Any] = [{"role": "user", "content": "think and call"}]
FUNCTION: dict[str, Any] = {"name": "weather", "parameters": {"type": "object"}}


@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions_have_it_in_a_field_of_its_own(scripted_server: RunningServer, stream: bool) -> None:
    asked = {"messages": CALL, "tools": [{"type": "function", "function": FUNCTION}], "stream": stream}
    answer = scripted_server.ask("/v1/chat/completions", asked)
    if stream:
        deltas = [choice["delta"] for event in answer.events for choice in event["choices"]]
        thought = "".join(delta.get("reasoning_content", "") for delta in deltas)
        message: dict[str, Any] = {"content": answer.streamed_text, "reasoning_content": thought}
        message["tool_calls"] = [call for delta in deltas for call in delta.get("tool_calls", ())]
    else:
        message = answer.json["choices"][0]["message"]
        used = answer.json["usage"]
        assert 0 < used["completion_tokens_details"]["reasoning_tokens"] < used["completion_tokens"]
    assert (message["reasoning_content"], message["content"]) == (THOUGHT, TEXT)
    if stream:  # some clients' name of it
        message["reasoning"] = message.pop("reasoning_content")
    asked["messages"] = [*CALL, {"role": "assistant", **message}, {"role": "user", "content": "echo"}]
    said = scripted_server.ask("/v1/chat/completions", {**asked, "stream": False}).json
    assert f"<{THOUGHT}>" in said["choices"][0]["message"]["content"]


def test_anthropics_client_gets_it_as_a_block_if_it_asks_for_it(scripted_server: RunningServer) -> None:
    asked: Any = {
        "model": "scripted", "messages": CALL, "max_tokens": 99,
        "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
    }  # fmt: skip
    with anthropic_client(scripted_server) as client:
        for more in ({}, {"thinking": {"type": "disabled"}}):
            found = client.messages.create(**{**asked, **more}).content
            assert [block.type for block in found][:2] == ["text", "tool_use"]
        asked["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        for message in (streamed, client.messages.create(**asked)):
            blocks: list[Any] = [block.to_dict() for block in message.content]
            assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use", "tool_use"]
            assert (blocks[0]["thinking"], blocks[1]["text"]) == (THOUGHT, TEXT) and blocks[0]["signature"]
            assert [(call["name"], call["input"]) for call in blocks[2:]] == [("weather", {"x": 1})] * 2
            assert message.stop_reason == "tool_use"
        given = [{"type": "tool_result", "tool_use_id": call["id"], "content": "42"} for call in blocks[2:]]
        given.append({"type": "text", "text": "echo"})
        answered = {"role": "assistant", "content": blocks}
        asked["messages"] = [*CALL, answered, {"role": "user", "content": given}]
        said: Any = client.messages.create(**asked).content[0]
        assert f"<{THOUGHT}>" in said.text and blocks[2]["id"] in said.text


@pytest.mark.parametrize("include", [[], ["reasoning.encrypted_content"]])
def test_openais_client_gets_it_as_an_item(scripted_server: RunningServer, include: list[str]) -> None:
    asked: Any = {
        "model": "scripted", "input": CALL, "tools": [{"type": "function", **FUNCTION}], "include": include,
    }  # fmt: skip
    with openai_client(scripted_server) as client:
        with client.responses.stream(**asked) as events:
            kinds = [event.type for event in events]
            streamed = events.get_final_response()
        assert "response.reasoning_text.delta" in kinds
        for response in (streamed, client.responses.create(**asked)):
            assert response.output_text == TEXT
            assert response.usage and response.usage.output_tokens_details.reasoning_tokens > 0
            assert [item.type for item in response.output] == ["reasoning", "message", *["function_call"] * 2]
            items = [item.to_dict() for item in response.output]
            assert items[0]["content"] == [{"type": "reasoning_text", "text": THOUGHT}]
            if include:  # Codex keeps nothing but this
                del items[0]["content"]
            outputs = [
                {"type": "function_call_output", "call_id": item["call_id"], "output": "42"}
                for item in items[2:]
            ]
            given: Any = [*CALL, *items, *outputs, {"role": "user", "content": "echo"}]
            said = client.responses.create(model="scripted", input=given).output_text
            assert said.count(f"<{THOUGHT}>") == 1
            assert json.dumps(items[2]["call_id"]) in said
