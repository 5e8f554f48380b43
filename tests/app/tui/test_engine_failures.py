"""What the chat shows and keeps when its engine dies or fails."""

import os
import signal
import sys
from pathlib import Path

import pytest

from app.engine.protocol import LoadFailed
from app.settings.options import AnswerOptions
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.test_chat import TEXT

LIMITED = Path(__file__).parents[1] / "limited_engine.py"
"""An engine that may allocate little more once the pair is loaded."""


def kill_engine(chat: Chat) -> None:
    pid = chat.app.link.client.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def test_a_killed_engine_keeps_the_partial_answer_and_the_next_prompt_works_or_is_back(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(process=True) as chat:
        client = chat.app.link.client
        await chat.stream()
        pid = client.pid
        kill_engine(chat)
        await chat.until(lambda: len(chat.answers) == 1)
        assert chat.answers[0].text.startswith("The target")
        assert (await chat.ask("between answers")).text == TEXT and client.pid != pid
        assert sum("SIGKILL" in notice for notice in chat.notices) == 1
        kill_engine(chat)
        await chat.until(lambda: chat.app.link.state == "dead")
        with monkeypatch.context() as patch:
            patch.setattr(client, "_command", ("/no/such/program",))
            await chat.type("again")
            await chat.noticed("cannot be started: No such file")
            await chat.until(lambda: chat.area.text == "again")
        await chat.answered(3, by="enter")
        assert chat.answers[2].text == TEXT and chat.prompts == ["slow", "between answers", "again"]


async def test_an_answer_that_its_server_ends_is_not_said_to_be_stopped_by_the_person(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.stream()
        assert chat.app.state.running is not None
        chat.app.link.cancel(chat.app.state.running.id)
        await chat.noticed("The server ended this answer. What was written so far is kept.")
        await chat.shows("not finished · /continue goes on")
        assert "stopped by you" not in chat.screen


async def test_a_failed_answer_returns_its_prompt_behind_up_where_one_is_written(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 24)) as chat:
        await chat.type("fail")
        await chat.settled()
        await chat.noticed("ValueError at")
        assert chat.area.text == "fail" and chat.prompts == []
        await chat.shows("● scripted")
        assert "reading" not in chat.screen
        chat.area.clear()
        await chat.stream("hold")
        await chat.type("fail")
        chat.app.chat.prompt.fill("next")
        await chat.noticed("A prompt that waited was not sent. Up brings the text back.", by="escape")
        assert chat.area.text == "next"
        await chat.has("fail", by="up")


async def test_a_pair_that_cannot_load_is_told_once_and_loaded_when_chosen_again_and_one_in_use_says_so(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(pair="absent", options=AnswerOptions(drafter="eagle")) as chat:
        link = chat.app.link
        await chat.until(lambda: link.state == "failed" and bool(chat.notices))
        assert [notice for notice in chat.notices if "Get it with: /pull absent" in notice] == chat.notices
        await chat.until(lambda: link.state == "ready" and link.pair.name == "builtin", by="/use builtin")
        await chat.noticed("builtin has no drafter eagle. It has: lookup, model. Training makes one: ")
        await chat.noticed("mlx-spec train TARGET --kind eagle. /drafter auto chooses")
        await chat.noticed("builtin is in use already.", by="/use builtin")
        with monkeypatch.context() as patch:
            patch.setattr(link.client, "poll", lambda: [LoadFailed("A file is missing.")])
            link.pump()
        await chat.shows("builtin not loaded")
        await chat.shows("● builtin", by="/use builtin")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space hold on Linux")
async def test_a_lack_of_memory_is_told_nothing_is_lost_and_the_chat_goes_on(open_chat: OpenChat) -> None:
    options = AnswerOptions(max_tokens=16)
    async with open_chat(pair="builtin", options=options, process=True, script=LIMITED) as chat:
        await chat.ask("What is a draft?")
        await chat.type("word and " * 900)
        await chat.settled()
        await chat.noticed("memory")
        assert len(chat.answers) == 1 and chat.area.text.startswith("word and")
        chat.area.clear()
        assert (await chat.ask("What is a target?")).text
