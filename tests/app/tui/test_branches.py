"""Messages asked again, edited, copied; branches walked; prompts that wait or come back."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from app.settings.options import AnswerOptions
from tests.app.history.some_chat import chat as chat_record
from tests.app.history.some_chat import prompt
from tests.app.tui.chat_driver import OpenChat, shown
from tests.app.tui.test_chat import TEXT
from tests.app.tui.test_pasted_text import LONG, paste
from tests.app.tui.test_saved_chats import put
from tests.app.tui.test_transcript import long_chat


async def test_an_edited_prompt_begins_a_branch_and_all_can_be_walked(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 30), asked="one") as chat:
        await chat.shows("context 16/")
        await chat.ask("echo")
        await chat.shows("context 14/")
        await chat.edit("up", "up", "up")
        assert chat.area.text == "one" and chat.area.has_focus and "editing" in str(chat.area.border_title)
        await chat.type("uno")
        await chat.settled()
        await chat.until(lambda: shown(chat) == ["‹2/2›uno", TEXT])
        await chat.until(lambda: shown(chat)[:3] == ["‹1/2›one", TEXT, "echo"], by=("tab", "up", "left"))
        await chat.shows("context 14/")
        await chat.until(lambda: shown(chat) == ["‹2/2›uno", TEXT], by="right")
        await chat.shows("context 16/")  # of the branch in view
        assert chat.prompts[0] == "uno"
        await chat.press("e", "tab", "up", "left")  # another branch comes into view while one is edited
        await chat.until(lambda: shown(chat)[0] == "‹1/2›one")
        await chat.type("eins")
        await chat.settled()
        await chat.until(lambda: shown(chat) == ["‹3/3›eins", TEXT])


async def test_an_edit_gives_back_what_was_being_written_and_up_what_was_edited(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        prompt = chat.app.chat.prompt

        async def edit(text: str) -> None:
            await chat.edit()
            await chat.until(lambda: chat.area.text == text and chat.area.has_focus)

        await chat.ask("one")
        chat.area.load_text("half a thought")
        await edit("one")
        await chat.press("x", "enter")
        await chat.until(lambda: chat.prompts == ["onex"] and chat.area.text == "half a thought")
        await chat.settled()
        chat.area.clear()
        await paste(chat, LONG)
        chat.area.load_text("half a thought")
        await edit("onex")
        assert not prompt.attachments
        await chat.until(lambda: chat.app.state.editing is None, by="escape")
        assert chat.area.text == "half a thought" and len(prompt.attachments) == 1
        await edit("onex")
        await chat.press("y")
        await edit("onex")  # the prompt is edited anew
        await chat.until(lambda: chat.app.state.editing is None and not chat.prompts, by=("x", "ctrl+n"))
        assert chat.area.text == "half a thought"
        for text in ("onexx", "onexy"):
            await chat.has(text, by="up")


async def test_an_answer_is_asked_for_again_with_a_new_seed_or_the_same(open_chat: OpenChat) -> None:
    async with open_chat(options=AnswerOptions(seed=5, temperature=0.5), asked="echo") as chat:
        await chat.settled(by="/regenerate same")
        await chat.until(lambda: "‹2/2›" in chat.answers[0].branch)
        assert chat.answers[0].text.endswith("seed 5")
        await chat.settled(by="/regenerate new")
        await chat.until(lambda: "‹3/3›" in chat.answers[0].branch)
        assert "seed" in chat.answers[0].text and not chat.answers[0].text.endswith("seed 5")
        await chat.until(lambda: "‹2/3›" in chat.answers[0].branch, by="/branch before")
        assert chat.app.state.settings.options.seed == 5
        await chat.noticed("It is /branch before or /branch after.", by="/branch ")
        await chat.noticed("It is /branch before or /branch after, not 'up'.", by="/branch up")
        await chat.type("/temperature 0")
        await chat.settled(by="/regenerate")
        await chat.noticed("every seed gives the same text")


async def test_an_answer_that_was_asked_for_among_the_messages_is_the_chosen_one_and_is_followed(
    open_chat: OpenChat,
) -> None:
    async with open_chat((60, 12)) as chat:
        view = chat.app.chat.transcript
        await chat.stream()
        await chat.answered(1, by="escape")
        await chat.until(lambda: bool(chat.growing), by=("tab", "r"))
        await chat.until(lambda: chat.growing[0].size.height > 2 * view.size.height)
        assert view.has_focus and chat.growing[0].has_class("-selected")
        await chat.until(lambda: view.is_vertical_scroll_end)
        await chat.until(lambda: view.selected is None, by=("escape", "tab"))
        await chat.ask("hello")
        assert view.selected is None, "one writes: no message is chosen"


async def test_a_prompt_can_replace_the_running_answer_or_be_taken_back(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.stream()
        await chat.type("slow")
        await chat.until(lambda: len(chat.app.state.queued) == 1)
        await chat.has("slow", by="up")
        assert chat.app.state.queued == []
        await chat.answered(1, by="ctrl+b")
        await chat.type("later")
        await chat.until(lambda: len(chat.app.state.queued) == 1)
        await chat.answered(3, by="ctrl+b")
        stopped = chat.app.state.conversation.path[3].facts
        assert stopped is not None and stopped.finish == "cancelled"
        assert chat.prompts == ["slow", "slow", "later"]


async def test_messages_and_code_blocks_are_copied_and_a_thought_is_folded_until_it_is_asked_for(
    open_chat: OpenChat, copied: list[str]
) -> None:
    async with open_chat(asked="think") as chat:
        await chat.shows("thought in 3 words")
        assert "one two three" not in chat.screen
        await chat.type("/copy code")
        await chat.until(lambda: len(copied) == 4, by=("tab", "y", "up", "y", "b"))
        assert copied[0] == copied[3] == "x = 1\n" and copied[2] == "think"
        assert copied[1].startswith("So it is:")
        await chat.type("/thoughts")
        await chat.shows("one two three")
        await chat.until(lambda: "one two three" not in chat.screen, by=("tab", "t", "tab"))
        await chat.ask("hello")
        await chat.press("shift+tab")
        assert chat.app.chat.transcript.selected, "there too a message is chosen"
        await chat.press("shift+tab")
        assert chat.area.has_focus and not chat.app.chat.transcript.selected
        await chat.until(lambda: len(copied) == 5, by=("tab", "up", "up", "up", "b"))
        assert copied[4] == "x = 1\n", "the chosen prompt's answer, not the last one"


async def test_copying_the_answer_of_a_prompt_that_has_none_says_how_to_get_one(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(tmp_path, (chat_record("c1", "T", leaf="p1"), [prompt("p1", "one")]))
    async with open_chat() as chat:
        await chat.until(lambda: chat.prompts == ["one"], by="/resume last")
        await chat.noticed("This prompt has no answer yet. /regenerate answers it.", by="/copy")


async def test_prompts_are_written_in_an_editor(open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.tui.app.ChatApp.suspend", lambda app: nullcontext())
    monkeypatch.setenv("EDITOR", 'sh -c \'printf "\\n\\033[1mmore" >> "$0"\'')
    async with open_chat() as chat:
        await chat.has("ab\n␛[1mmore", by=(*"ab", "ctrl+g"))
        monkeypatch.setenv("EDITOR", "false")
        await chat.press("ctrl+g")
        await chat.pilot.pause()
        assert chat.area.text == "ab\n␛[1mmore"
        monkeypatch.setenv("EDITOR", "rm")
        await chat.noticed("cannot be handed to an editor and back: No such file", by="ctrl+g")


async def test_a_prompt_keeps_its_letters_whatever_encoding_the_editor_saves_it_in(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.app.ChatApp.suspend", lambda app: nullcontext())
    async with open_chat() as chat:
        for saved, read in (
            ("\\357\\273\\277/draft off", "/draft off"),
            ("caf\\351\\r\\nnoir", "café\nnoir"),
        ):
            monkeypatch.setenv("EDITOR", f'sh -c \'printf "{saved}" > "$0"\'')
            await chat.has(read, by="ctrl+g")
        await chat.noticed("The editor's text is not UTF-8: it was read as Latin-1.")


async def test_what_is_typed_right_after_the_keys_of_a_message_goes_into_the_prompt(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="one") as chat:
        await chat.press("tab")
        chat.press_at_once("up", "e", "end", *"try")
        await chat.has("onetry")
        await chat.until(lambda: not chat.area.text, by="escape")
        await chat.press("tab")
        chat.press_at_once("up", "i", *"yes")
        await chat.has("yes")


async def test_a_character_that_is_no_key_of_the_messages_begins_a_prompt(open_chat: OpenChat) -> None:
    async with open_chat(asked="one") as chat:
        await chat.press("tab", "up", "space")
        assert chat.app.chat.transcript.has_focus
        await chat.has("W", by="W")
        await chat.has("What", by=(*"hat",))
        assert chat.app.chat.transcript.selected is None
        await chat.until(lambda: not chat.area.text, by="ctrl+c")
        await chat.press("tab")
        chat.press_at_once(*"That")
        await chat.has("That")


async def test_keys_right_after_tab_act_on_the_messages(open_chat: OpenChat) -> None:
    async with open_chat(asked="one") as chat:
        chat.press_at_once(*"mine", "tab", "up", "e", *"try")
        await chat.has("onetry")
        await chat.until(lambda: chat.area.text == "mine", by="escape")


async def test_the_prompt_walks_the_last_branches_and_says_how_to_reach_the_others(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="one") as chat:
        await chat.settled(by="/regenerate")
        await chat.ask("two")
        where = "There is no branch after ‹2/2›"
        others = "where this chat branches last. Tab goes to the messages before it."
        await chat.noticed(f"{where}, {others}", by="/branch after")
        await chat.press("tab", "up", "up", "right")
        await chat.until(lambda: chat.notices[-1] == f"{where}.")


async def test_a_branch_walked_to_is_in_view_however_much_follows_it(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        chat.app.state.resume(*long_chat(turns=60))
        await chat.until(lambda: len(chat.prompts) == 60)
        await chat.edit("home")
        await chat.press("x", "enter")
        await chat.until(lambda: len(chat.prompts) == 1 and chat.app.state.running is None)
        await chat.press("tab", "up", "left")
        await chat.until(lambda: len(chat.prompts) == 60)
        await chat.shows("question 0", "‹1/2›", "question 1")
