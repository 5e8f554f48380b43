"""Messages asked again, edited, continued, copied; branches walked."""

from contextlib import nullcontext

import pytest

from app.engine.events import Mark, Piece
from app.tui.widgets.answer import Answer
from app.tui.widgets.prompt_area import PromptArea
from mlx_spec.types import Options
from tests.app.tui.chat_driver import OpenChat, settled, shown
from tests.app.tui.test_chat import TEXT

MARKS: tuple[Mark, ...] = ("accepted", "bonus", "plain", "bonus")


async def test_an_edited_prompt_begins_a_branch_and_both_can_be_walked(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 30)) as chat:
        await chat.ask("one")
        await chat.ask("two")
        await chat.pilot.press("tab", "up", "up", "up", "e")
        area = chat.app.chat.query_one(PromptArea)
        await chat.until(lambda: area.text == "one" and area.has_focus)
        assert "editing" in str(area.border_title)
        area.load_text("uno")
        await chat.pilot.press("enter")
        await settled(chat)
        await chat.until(lambda: shown(chat) == ["‹2/2›uno", TEXT])
        await chat.pilot.press("tab", "up", "left")
        await chat.until(lambda: shown(chat) == ["‹1/2›one", TEXT, "two", TEXT])
        await chat.pilot.press("right")
        await chat.until(lambda: shown(chat) == ["‹2/2›uno", TEXT])
        assert chat.prompts[0] == "uno"


async def test_a_prompt_edited_on_another_branch_than_the_one_in_view_shows_its_own(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(80, 30)) as chat:
        await chat.ask("one")
        await chat.pilot.press("tab", "up", "e")
        area = chat.app.chat.query_one(PromptArea)
        await chat.until(lambda: area.text == "one")
        await chat.type("uno")
        await settled(chat)
        await chat.until(lambda: shown(chat) == ["‹2/2›uno", TEXT])
        await chat.pilot.press("tab", "up", "e", "tab", "up", "left")
        await chat.until(lambda: shown(chat) == ["‹1/2›one", TEXT])
        await chat.type("eins")
        await settled(chat)
        await chat.until(lambda: shown(chat) == ["‹3/3›eins", TEXT])


async def test_esc_while_editing_brings_back_what_was_being_written(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("one")
        area = chat.app.chat.query_one(PromptArea)
        area.load_text("half a thought")
        await chat.pilot.press("tab", "e")
        await chat.until(lambda: area.text == "one" and area.has_focus)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.state.editing is None)
        assert area.text == "half a thought"


async def test_another_chat_while_editing_brings_back_what_was_being_written_and_up_what_was_edited(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.ask("one")
        area = chat.app.chat.query_one(PromptArea)
        area.load_text("half a thought")
        await chat.pilot.press("tab", "e")
        await chat.until(lambda: area.text == "one" and area.has_focus)
        await chat.pilot.press("x", "ctrl+n")
        await chat.until(lambda: chat.app.state.editing is None and not chat.prompts)
        assert area.text == "half a thought"
        await chat.pilot.press("up")
        await chat.until(lambda: area.text == "onex")


async def test_an_answer_is_asked_for_again_with_a_new_seed_or_the_same(open_chat: OpenChat) -> None:
    async with open_chat(options=Options(seed=5, temperature=0.5)) as chat:
        await chat.ask("echo")
        await chat.type("/regenerate same")
        await settled(chat)
        await chat.until(lambda: "‹2/2›" in chat.answers[0].branch)
        assert chat.answers[0].text.endswith("seed 5")
        await chat.type("/regenerate new")
        await settled(chat)
        await chat.until(lambda: "‹3/3›" in chat.answers[0].branch)
        assert "seed" in chat.answers[0].text and not chat.answers[0].text.endswith("seed 5")
        await chat.type("/branch before")
        await chat.until(lambda: "‹2/3›" in chat.answers[0].branch)
        assert chat.app.state.settings.options.seed == 5


async def test_asking_again_at_temperature_0_says_that_every_seed_gives_the_same_text(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.ask("one")
        await chat.type("/regenerate")
        await settled(chat)
        await chat.until(lambda: "‹2/2›" in chat.answers[0].branch)
        assert any("every seed gives the same text" in notice for notice in chat.notices)


async def test_a_prompt_can_take_the_place_of_the_running_answer_or_be_taken_back(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        await chat.type("later")
        await chat.until(lambda: len(chat.app.state.queued) == 1)
        await chat.pilot.press("up")
        await chat.until(lambda: area.text == "later")
        assert chat.app.state.queued == []
        await chat.pilot.press("ctrl+b")
        await chat.until(lambda: len(chat.answers) == 2)
        assert chat.prompts == ["slow", "later"]


async def test_what_waits_can_take_the_place_of_the_running_answer(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        await chat.type("later")
        await chat.until(lambda: len(chat.app.state.queued) == 1)
        await chat.pilot.press("ctrl+b")
        await chat.until(lambda: len(chat.answers) == 2)
        await chat.pilot.press("ctrl+b")
        stopped = chat.app.state.conversation.path[1].facts
        assert stopped is not None and stopped.finish == "cancelled"
        assert chat.prompts == ["slow", "later"]


async def test_messages_and_code_blocks_are_copied(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    monkeypatch.setattr("app.tui.widgets.message_actions.copy", lambda app, text: copied.append(text))
    async with open_chat() as chat:
        await chat.ask("think")
        await chat.type("/copy code")
        await chat.pilot.press("tab", "y", "up", "y", "b")
        await chat.until(lambda: len(copied) == 4)
        assert copied[0] == copied[3] == "x = 1\n" and copied[2] == "think"
        assert copied[1].startswith("<think>one two three</think>So it is:")


async def test_a_thought_is_folded_until_it_is_asked_for(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("think")
        await chat.until(lambda: "thought in 3 words" in chat.screen)
        assert "one two three" not in chat.screen
        await chat.type("/think")
        await chat.until(lambda: "one two three" in chat.screen)


async def test_a_visible_character_of_several_tokens_is_drawn_whole(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        texts = ("a👩", "\u200d💻 🇩", "🇪🇫🇷 e", "\u0301 مرحبا")
        pieces = [Piece(text, mark) for text, mark in zip(texts, MARKS, strict=True)]
        answer = Answer("".join(p.text for p in pieces), pieces, "", marks=True)
        chat.app.chat.transcript.append(lambda: answer)
        await chat.until(lambda: answer.size.height > 0)
        drawn = [segment.text for segment in answer.render_line(0)]
        for whole in ("👩\u200d💻", "🇩🇪", "🇫🇷", "e\u0301", "مرحبا"):
            assert any(whole in text for text in drawn), (whole, drawn)


async def test_the_prompt_can_be_written_in_the_persons_editor(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.app.ChatApp.suspend", lambda app: nullcontext())
    monkeypatch.setenv("EDITOR", 'sh -c \'printf "\\n\\033[1mmore" >> "$0"\'')
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        await chat.pilot.press(*"ab", "ctrl+g")
        await chat.until(lambda: area.text == "ab\n␛[1mmore")
        monkeypatch.setenv("EDITOR", "false")
        await chat.pilot.press("ctrl+g")
        await chat.pilot.pause()
        assert area.text == "ab\n␛[1mmore"


async def test_what_was_asked_before_comes_back_with_up_even_in_the_next_run(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("one")
        await chat.ask("two\nlines")
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        await chat.pilot.press(*"new", "up")
        await chat.until(lambda: area.text == "two\nlines")
        await chat.pilot.press("up", "up")
        await chat.until(lambda: area.text == "one")
        await chat.pilot.press("down", "down")
        await chat.until(lambda: area.text == "new")
