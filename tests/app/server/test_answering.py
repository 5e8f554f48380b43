"""Streams of scripted events, without a server."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from app.engine.events import Piece, PrefillProgressed, ScoredToken, TextAdded, ToolCall, TurnEnded, TurnEvent
from app.engine.protocol import Answer, Answered
from app.engine.server_client import LINE
from app.server.answering import KEEP_ALIVE, Writer, _frames
from app.server.chat_completions import ChatWriter
from app.server.events import _lines
from app.server.messages import MessagesWriter
from app.server.request_queue import QueuedRequest
from app.server.responses import ResponsesWriter
from app.server.usage import timings
from app.settings.options import AnswerOptions
from mlx_spec.stats import summarise
from mlx_spec.types import Round

NO_TEXT = TextAdded((), 1, 0.0, 0.0, 0, ())
ENDED = TurnEnded("so", (1,), "stop", 0, summarise(()))


async def streamed(events: list[TurnEvent], seconds: float, writer: Writer) -> list[str]:
    """The frames of an answer whose events come `seconds` apart."""
    asked = QueuedRequest(cast("Any", None), Answer(0, "hello", AnswerOptions()))

    async def play() -> None:
        for event in events:
            await asyncio.sleep(seconds)
            asked.take(Answered(0, event))

    playing = asyncio.create_task(play())
    first = await asked.next()
    frames = [frame async for frame in _frames([asked], first, writer)]
    await playing
    return frames


CHAT = ChatWriter("m", False, 1)
HIDDEN = replace(NO_TEXT, pieces=(Piece("hm", "plain", thought=True),))


@pytest.mark.parametrize(
    ("silent", "writer"),
    [(PrefillProgressed(1, 9), CHAT), (NO_TEXT, CHAT), (HIDDEN, MessagesWriter("m", shows_thought=False))],
)
def test_a_stream_whose_events_bring_no_text_is_kept_alive(
    silent: TurnEvent, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.answering.KEEP_ALIVE_SECONDS", 0.1)
    text = replace(NO_TEXT, pieces=(Piece("so", "plain"),))
    frames = asyncio.run(streamed([*[silent] * 40, text, ENDED], 0.01, writer))
    assert frames.count(KEEP_ALIVE) >= 2 and '"so"' in "".join(frames)


def test_the_prompts_time_goes_up_to_the_first_token_and_the_answers_time_begins_there() -> None:
    """A short prompt is read in the first round: it would seem to take no time, and the answer too long."""
    rounds = [Round((), 0, (5,), "none", 0.4), Round((), 0, (6,), "none", 0.1)]
    for played, milliseconds in ((rounds, (500, 100)), (rounds[:1], (500, 0))):
        stats = summarise(played, prompt_tokens=30, prefill_seconds=0.1)
        found = timings(TurnEnded("ab", (5, 6), "stop", 1, stats))
        assert (found["prompt_ms"], found["predicted_ms"]) == milliseconds
    rounds += [Round((6,), 1, (6, 7), drafter, 0.1) for drafter in ("lookup", "model", "model")]
    found = timings(replace(ENDED, stats=summarise(rounds)))
    assert (found["draft_kind"], found["draft_rounds"]) == ("model+lookup", 3)
    assert found["predicted_per_second"] > 0


@pytest.mark.parametrize("calls", [(), (ToolCall("f", "{}", "c1"),)])
def test_an_answer_without_text_has_its_calls_as_named_or_an_empty_text(calls: tuple[ToolCall, ...]) -> None:
    ended = replace(ENDED, text="", tool_calls=calls)
    writers = (
        ChatWriter("m", False, 1),
        MessagesWriter("m", shows_thought=True),
        ResponsesWriter("m", {}, sealed=False),
    )
    for writer in writers:
        asyncio.run(streamed([ended], 0, writer))
    chat, anthropics, openais = (writer.whole() for writer in writers)
    message, (block,), (item,) = chat["choices"][0]["message"], anthropics["content"], openais["output"]
    if calls:
        assert message["content"] is None and message["tool_calls"][0]["id"] == "c1"
        assert (block["type"], block["id"]) == ("tool_use", "c1")
        assert (item["type"], item["call_id"]) == ("function_call", "c1")
    else:
        assert message["content"] == block["text"] == item["content"][0]["text"] == ""


def test_logprobs_come_once_with_a_thoughts_last_round_and_also_without_text() -> None:
    added = replace(NO_TEXT, scored=(ScoredToken("hm", 0, -1.0, ()),))
    both = replace(added, pieces=(*HIDDEN.pieces, Piece("so", "plain")))
    assert [frame.count('"logprob"') for each in (added, both) for frame in CHAT.text(0, each)] == [1, 1, 0]


async def test_the_chats_stream_has_empty_lines_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.events.KEEP_ALIVE_SECONDS", 0.01)
    asked = QueuedRequest(cast("Any", None), Answer(0, "hello", AnswerOptions()))
    lines = _lines(cast("Any", None), asked)
    assert await anext(lines) == "\n"
    asked.take(Answered(0, ENDED))
    assert LINE.validate_json(await anext(lines)) == ENDED
