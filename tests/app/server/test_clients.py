"""Widely used client libraries against the running server.

They take seconds to import: tests do it, as not every one of pytest's workers runs them.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.app.server.running_server import RunningServer
from tests.on_ranks import ROOT

if TYPE_CHECKING:
    import anthropic
    import openai

SAID: list[Any] = [{"role": "user", "content": "hello there"}]
SAMPLED: Any = {"seed": 3, "temperature": 0.9}


def test_the_readmes_second_screen_asks_the_server_in_four_lines(
    tiny_server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = (ROOT / "README.md").read_text().split("```python\nfrom openai")
    assert "mlx-spec serve smollm2-135m" in before and before.count("\n") < 50
    snippet = "from openai" + after.partition("```")[0]
    assert len([line for line in snippet.splitlines() if line]) == 4
    changed = {
        "http://127.0.0.1:8080/v1": tiny_server.url,
        "smollm2-135m": "target",
        "messages=messages": "messages=messages, max_tokens=8",
    }
    for theirs, ours in changed.items():
        assert theirs in snippet
        snippet = snippet.replace(theirs, ours)
    exec(snippet, {})
    assert capsys.readouterr().out.strip()


def openai_client(server: RunningServer, **more: Any) -> "openai.OpenAI":
    import openai

    return openai.OpenAI(base_url=server.url, api_key="none", timeout=60, **more)


def anthropic_client(server: RunningServer) -> "anthropic.Anthropic":
    import anthropic

    return anthropic.Anthropic(base_url=server.url.removesuffix("/v1"), api_key="none", timeout=60)


def test_openais_client_gets_the_same_text_from_every_endpoint(tiny_server: RunningServer) -> None:
    with openai_client(tiny_server) as client:
        model = client.models.list().data[0].id
        assert client.models.retrieve(model).id == model
        asked: Any = {"model": model, "messages": SAID, "max_completion_tokens": 12, **SAMPLED}
        whole = client.chat.completions.create(**asked)
        text = whole.choices[0].message.content
        assert text and whole.usage and whole.usage.completion_tokens == 12
        assert whole.model_extra and whole.model_extra["timings"]["draft_n"] > 0
        with client.chat.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}
        ) as stream:
            chunks = list(stream)
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
        assert chunks[-1].usage and chunks[-1].usage.completion_tokens == 12
        response = client.responses.create(
            model=model, input=SAID, max_output_tokens=12, temperature=0.9, extra_body={"seed": 3}
        )
        assert response.output_text == text
        raw = client.completions.create(model=model, prompt="the small model", max_tokens=8)
        pieces = client.completions.create(model=model, prompt="the small model", max_tokens=8, stream=True)
        assert "".join(piece.choices[0].text for piece in pieces) == raw.choices[0].text


def test_answers_have_each_field_that_the_clients_models_require(tiny_server: RunningServer) -> None:
    """The clients read an answer without looking for what is missing."""
    from anthropic.pagination import SyncPage
    from anthropic.types import Message, ModelInfo
    from openai.types import Completion, Model
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    asked: list[tuple[Any, str, dict[str, Any]]] = [
        (ChatCompletion, "chat/completions", {"messages": SAID}),
        (Completion, "completions", {"prompt": "the small model"}),
        (Response, "responses", {"input": "hello there"}),
        (Message, "messages", {"messages": SAID}),
    ]
    for model, path, body in asked:
        model.model_validate(tiny_server.ask(f"/v1/{path}", {**body, "max_tokens": 8}).json)
    page = SyncPage[ModelInfo].model_validate(tiny_server.ask("/v1/models").json)
    assert (page.has_more, page.first_id, page.last_id) == (False, "target", "target")
    for kind in (ModelInfo, Model):
        kind.model_validate(tiny_server.ask("/v1/models/target").json)


def test_openais_client_raises_what_it_raises_for_openai(scripted_server: RunningServer) -> None:
    import openai

    with openai_client(scripted_server) as client:
        with pytest.raises(openai.NotFoundError, match="no model"):
            client.chat.completions.create(model="gpt", messages=SAID)
        with pytest.raises(openai.BadRequestError, match="response_format"):
            form: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
            client.chat.completions.create(model="scripted", messages=SAID, response_format=form)
        crash: Any = [{"role": "user", "content": "crash"}]
        with pytest.raises(openai.APIError, match="SIGKILL"):
            list(client.chat.completions.create(model="scripted", messages=crash, stream=True))


async def test_an_editor_that_cancels_half_of_its_requests_gets_the_other_half(
    tiny_server: RunningServer,
) -> None:
    import openai

    async with openai.AsyncOpenAI(base_url=tiny_server.url, api_key="none", max_retries=0) as client:

        async def complete(number: int) -> str:
            found = ""
            stream = await client.completions.create(
                model="target", prompt=f"the model {number % 3}", max_tokens=8, seed=number, stream=True,
                temperature=0.8,
            )  # fmt: skip
            async with stream:
                async for piece in stream:
                    found += piece.choices[0].text
                    if number % 2:
                        return ""
            return found

        alone = [await complete(number) for number in range(0, 10, 2)]
        found = await asyncio.gather(*(complete(number) for number in range(10)))
    assert found[::2] == alone
    tiny_server.wait_for("num_requests_running", 0)


def test_openais_client_sends_tools_and_reads_calls(scripted_server: RunningServer) -> None:
    tool: Any = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    call: Any = [{"role": "user", "content": "call"}]
    asked: Any = {"model": "scripted", "messages": call, "tools": [tool]}
    with openai_client(scripted_server) as client:
        with client.chat.completions.stream(**asked) as events:
            streamed = events.get_final_completion()
        whole = client.chat.completions.create(**asked)
        for choice in (streamed.choices[0], whole.choices[0]):
            calls: Any = choice.message.tool_calls
            assert choice.finish_reason == "tool_calls" and len({each.id for each in calls}) == 2
            found = [(each.function.name, json.loads(each.function.arguments)) for each in calls]
            assert found == [("weather", {"x": 1})] * 2
        given = {"role": "tool", "tool_call_id": "1", "content": "echo"}
        asked["messages"] = [*call, whole.choices[0].message.to_dict(), given]
        assert "weather" in (client.chat.completions.create(**asked).choices[0].message.content or "")


def test_anthropics_client_gets_the_same_text(tiny_server: RunningServer) -> None:
    import anthropic

    text = tiny_server.text("hello there", max_tokens=12, **SAMPLED)
    with anthropic_client(tiny_server) as client:
        asked: Any = {
            "model": "target", "messages": SAID, "max_tokens": 12, "extra_body": SAMPLED,
        }  # fmt: skip
        for stop in (None, text[:3], text[5:8]):
            asked["stop_sequences"] = ["never said", stop] if stop else []
            whole = client.messages.create(**asked)
            with client.messages.stream(**asked) as stream:
                streamed = "".join(stream.text_stream)
                message = stream.get_final_message()
            shown = text[: text.index(stop)] if stop else text
            assert streamed == shown
            for each in (whole, message):
                assert [block.to_dict() for block in each.content] == [{"type": "text", "text": shown}]
                assert (each.type, each.stop_sequence) == ("message", stop)
                assert each.stop_reason == ("stop_sequence" if stop else "max_tokens")
                assert each.usage.output_tokens == 12 or stop
        counted = client.messages.count_tokens(model="target", messages=SAID).input_tokens
        assert counted == whole.usage.input_tokens + (whole.usage.cache_read_input_tokens or 0) > 2
        with client.messages.create(**asked, stream=True) as events:
            start = next(iter(events))
        assert start.type == "message_start" and start.message.usage.input_tokens == counted
        assert whole.model_extra and whole.model_extra["timings"]["draft_n"] > 0
        with pytest.raises(anthropic.NotFoundError, match="no model"):
            client.messages.create(**{**asked, "model": "claude"})
    raw = tiny_server.ask("/v1/messages", {"messages": SAID, "max_tokens": 12, "stream": True})
    assert raw.names == [
        "message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert {event["index"] for event in raw.events if event["type"].startswith("content_block")} == {0}


def test_anthropics_tool_runner_sends_the_whole_conversation_where_nothing_is_kept(
    scripted_server: RunningServer,
) -> None:
    """It asks for a thread first, and would then send the tools' results alone."""
    import anthropic

    @anthropic.beta_tool
    def weather(x: int) -> str:
        """The weather."""
        return f"echo {x}"

    with anthropic_client(scripted_server) as client:
        asked: Any = {"model": "scripted", "messages": [{"role": "user", "content": "call"}]}
        runner = client.beta.messages.tool_runner(**asked, max_tokens=99, tools=[weather])
        said: Any = runner.until_done().content[0]
    assert said.text.startswith("call|The target checks") and "|echo 1|echo 1" in said.text
