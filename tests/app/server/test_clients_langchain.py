"""LangChain's OpenAI classes against the running server. Imported late: that takes two seconds."""

from typing import Any

import pytest

from tests.app.server.running_server import RunningServer


def settings(server: RunningServer, **more: Any) -> dict[str, Any]:
    return {"base_url": server.url, "api_key": "none", "timeout": 60, "max_retries": 0, **more}


def test_langchain_gets_the_texts_that_others_get_whole_streamed_in_a_batch_and_several_of_a_prompt(
    tiny_server: RunningServer,
) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_openai import ChatOpenAI, OpenAI

    asked = {"seed": 3, "temperature": 0.9, "max_tokens": 12}
    said: list[Any] = ["hello there", "the small model"]
    texts = [tiny_server.text(each, **asked) for each in said]
    chat = ChatOpenAI(**settings(tiny_server, model="target", **asked))
    assert chat.invoke(said[0]).content == texts[0]
    assert "".join(str(piece.content) for piece in chat.stream(said[0])) == texts[0]
    assert [each.content for each in chat.batch(said)] == texts
    several = ChatOpenAI(**settings(tiny_server, model="target", n=2, **asked))
    (found,) = several.generate([[HumanMessage(said[0])]]).generations
    assert [each.text for each in found][0] == texts[0] and len(found) == 2

    raw = [
        tiny_server.ask("/v1/completions", {"prompt": each, **asked}).json["choices"][0]["text"]
        for each in said
    ]
    assert OpenAI(**settings(tiny_server, model="target", **asked)).batch(said) == raw


def test_langchain_knows_a_prompt_that_is_too_long(tiny_server: RunningServer) -> None:
    """Agents shorten their conversation at this error."""
    from langchain_core.exceptions import ContextOverflowError
    from langchain_openai import ChatOpenAI

    for responses in (False, True):
        chat = ChatOpenAI(**settings(tiny_server, model="target", use_responses_api=responses))
        with pytest.raises(ContextOverflowError, match="prompt is too long"):
            chat.invoke("word " * 6000)


def test_langchain_reads_calls_of_tools_and_sends_back_what_they_gave(scripted_server: RunningServer) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    chat = ChatOpenAI(**settings(scripted_server, model="scripted")).bind_tools([tool])
    answer = chat.invoke("call")
    assert isinstance(answer, AIMessage)
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("weather", {"x": 1})] * 2
    given = ToolMessage("echo", tool_call_id=answer.tool_calls[0]["id"])
    assert "weather" in str(chat.invoke([HumanMessage("call"), answer, given]).content)
