"""What the chat shows and keeps when its engine dies or fails."""

import os
import signal

import pytest

from app.tui.widgets.prompt_area import PromptArea
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_chat import TEXT


async def test_a_killed_engine_keeps_the_partial_answer_and_the_next_prompt_works(
    open_chat: OpenChat,
) -> None:
    async with open_chat(process=True) as chat:
        await chat.ask("hello")
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        pid = chat.app.link.client.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await chat.until(lambda: len(chat.answers) == 2)
        assert sum("SIGKILL" in notice for notice in chat.notices) == 1
        assert chat.answers[1].text.startswith("The target")
        assert (await chat.ask("again")).text == TEXT
        assert chat.app.link.client.pid != pid
        assert chat.prompts == ["hello", "slow", "again"]


async def test_an_engine_killed_between_answers_is_restarted_by_the_next_prompt(open_chat: OpenChat) -> None:
    async with open_chat(process=True) as chat:
        await chat.ask("hello")
        pid = chat.app.link.client.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await chat.until(lambda: chat.app.link.state == "dead")
        assert (await chat.ask("again")).text == TEXT
        assert sum("SIGKILL" in notice for notice in chat.notices) == 1


async def test_an_engine_that_cannot_be_started_again_is_told_and_the_prompt_is_back(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(process=True) as chat:
        client = chat.app.link.client
        await chat.ask("hello")
        assert client.pid is not None
        os.kill(client.pid, signal.SIGKILL)
        await chat.until(lambda: chat.app.link.state == "dead")
        with monkeypatch.context() as patch:
            patch.setattr(client, "_command", ("/no/such/program",))
            await chat.type("again")
            await chat.until(lambda: any("cannot be started: No such file" in said for said in chat.notices))
            await chat.until(lambda: chat.app.chat.query_one(PromptArea).text == "again")
        await chat.pilot.press("enter")
        await chat.until(lambda: len(chat.answers) == 2)
        assert chat.answers[1].text == TEXT and chat.prompts == ["hello", "again"]


async def test_a_failed_answer_gives_the_prompt_back(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("fail")
        await chat.until(lambda: chat.app.state.running is None)
        assert any("scripted failure" in notice for notice in chat.notices)
        assert chat.app.chat.query_one(PromptArea).text == "fail"
        assert chat.prompts == []


async def test_a_pair_that_cannot_load_is_told_once_with_what_to_do(open_chat: OpenChat) -> None:
    async with open_chat(pair="absent") as chat:
        await chat.until(lambda: chat.app.link.state == "failed")
        await chat.until(lambda: bool(chat.notices))
        assert [notice for notice in chat.notices if "mlx-spec pull absent" in notice] == chat.notices
