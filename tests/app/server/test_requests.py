"""What the engine is asked by a request, without a server."""

from dataclasses import replace

from app.server.chat_completions import ChatRequest
from app.server.conversation import called, conversation
from app.server.messages import MessagesRequest
from app.server.responses import ResponsesRequest
from app.server.sampling import MOST_TOKENS, Draft, Sampling
from mlx_spec.types import Options

CITY = '{"city": "Rom"}'
THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}


def test_a_request_overrides_the_options_that_it_names_and_has_a_seed_of_its_own() -> None:
    defaults = Options(draft_length=3, top_p=0.5, min_p=0.1, repetition_context=9, verify="block")
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "repetition_penalty": 1.1, "seed": 7}
    asked = Sampling(**given, draft=Draft(length="auto", drafter="lookup"))
    wanted = replace(defaults, **given, draft_length=None, drafter="lookup", max_tokens=MOST_TOKENS)
    assert asked.options(defaults, None) == wanted
    bare = [Sampling().options(defaults, 10**30) for _ in range(2)]
    assert bare[0].seed != bare[1].seed
    assert {replace(each, seed=0) for each in bare} == {replace(defaults, max_tokens=10**30)}


def test_a_conversation_is_the_same_to_the_template_in_each_api() -> None:
    call = called("c1", "weather", {"city": "Rom"})
    wanted = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "what now"},
        {"role": "assistant", "content": "so", "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "content": "rain", "tool_call_id": "c1"},
        {"role": "user", "content": "and?"},
    ]
    function = {"name": "weather", "arguments": CITY}
    chat = [dict(each) for each in wanted]
    chat[0]["role"] = "developer"
    chat[2]["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    assert list(conversation(ChatRequest.model_validate({"messages": chat}).messages)) == wanted
    blocks = [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rom"}},
    ]  # fmt: skip
    results = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "rain"}, {"type": "text", "text": "and?"},
    ]  # fmt: skip
    turns = [wanted[1], {"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    asked = {"system": "be brief", "messages": turns, "max_tokens": 1}
    assert MessagesRequest.model_validate(asked).conversation == wanted
    items = [
        {"role": "developer", "content": "be brief"}, wanted[1],
        THOUGHT, {"role": "assistant", "content": "so"},
        {"type": "function_call", "call_id": "c1", **function},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"}, {"content": "and?"},
    ]  # fmt: skip
    assert list(ResponsesRequest.model_validate({"input": items}).messages) == wanted


def test_only_items_of_one_answer_become_one_message() -> None:
    asked = {"role": "user", "content": "hello"}
    answers = [{"role": "assistant", "content": text} for text in ("one", "two")]
    call = {"type": "function_call", "call_id": "c1", "name": "f"}
    items = [THOUGHT, call, call, asked, *answers, THOUGHT, asked]
    found = ResponsesRequest.model_validate({"input": items, "instructions": "be brief"}).messages
    thought = {"content": "", "reasoning_content": "hm", "tool_calls": [called("c1", "f", {})] * 2}
    system, calls = {"role": "system", "content": "be brief"}, {"role": "assistant", **thought}
    assert list(found) == [system, calls, asked, *answers, asked]
    assert ResponsesRequest.model_validate({"input": "hello"}).messages == (asked,)
