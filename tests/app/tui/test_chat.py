"""The chat screen on a scripted engine process: messages and state, not pixels."""

from pathlib import Path

from app.tui.widgets.answer import Answer
from app.tui.widgets.below import QueueList, StatusLine
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.message import UserMessage
from mlx_spec.types import Options
from models.pairs.catalogue import all_pairs
from tests.app.tui.chat_driver import OpenChat

TEXT = "The target checks what the draft guessed: 日本 👩‍💻."


async def test_a_prompt_is_answered_and_settles_into_one_widget(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        answer = await chat.ask("hello")
        assert answer.text == TEXT
        assert not chat.app.chat.query(LiveAnswer)
        assert "6 tokens" in answer.stats and "accepted 3/3, " in answer.stats
        assert [message.text for message in chat.app.state.conversation.path[1:]] == [TEXT]


async def test_a_prompt_sent_while_the_pair_loads_waits_and_runs(open_chat: OpenChat, tmp_path: Path) -> None:
    async with open_chat(pair="slow to load") as chat:
        await chat.type("hello")
        await chat.until(lambda: "loading" in str(chat.app.chat.query_one(StatusLine).content))
        assert chat.app.link.state == "loading" and not chat.answers
        (tmp_path / "load").touch()
        await chat.until(lambda: bool(chat.answers))
        assert chat.answers[0].text == TEXT


async def test_tokens_are_marked_while_they_stream(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        live = chat.app.chat.query_one(LiveAnswer)
        assert {piece.mark for piece in live.pieces} == {"accepted", "bonus"}
        strip = live.render_line(0)
        first = next(segment for segment in strip if segment.text.startswith("The target"))
        assert first.style is not None and first.style.underline


async def test_esc_stops_and_keeps_the_text(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        await chat.pilot.press("escape")
        await chat.until(lambda: bool(chat.answers))
        answer = chat.answers[0]
        assert answer.text.startswith("The target")
        assert "stopped by you" in answer.stats
        assert chat.app.state.conversation.path[1].text == answer.text
        assert (await chat.ask("hello")).text == TEXT


async def test_esc_among_the_messages_stops_and_goes_back_to_the_prompt_when_nothing_runs(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        await chat.pilot.press("tab")
        assert chat.app.focused is chat.app.chat.transcript
        await chat.pilot.press("escape")
        await chat.until(lambda: bool(chat.answers))
        assert "stopped by you" in chat.answers[0].stats
        assert chat.app.focused is chat.app.chat.transcript
        await chat.pilot.press("escape")
        assert chat.app.focused is chat.app.chat.prompt.area


async def test_the_drafting_key_changes_the_next_request(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        assert "accepted 3/3" in (await chat.ask("hello")).stats
        await chat.pilot.press("f4")
        assert "no draft" in (await chat.ask("hello")).stats
        await chat.type("/draft on")
        assert "accepted 3/3" in (await chat.ask("hello")).stats


async def test_a_chat_begun_without_drafting_can_switch_it_on(open_chat: OpenChat) -> None:
    async with open_chat(options=Options(draft_length=0)) as chat:
        assert "no draft" in (await chat.ask("hello")).stats
        await chat.pilot.press("f4")
        assert "accepted 3/3" in (await chat.ask("hello")).stats


async def test_measuring_at_first_use_is_seen_and_skipped_and_the_waiting_answer_runs(
    open_chat: OpenChat,
) -> None:
    async with open_chat(pair="untuned") as chat:
        await chat.type("hello")
        await chat.until(lambda: chat.app.link.tuning is not None)
        line = chat.app.chat.query_one(StatusLine)
        await chat.until(lambda: "measuring drafting" in str(line.content))
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.link.tuning is None)
        await chat.until(lambda: chat.app.state.running is None)
        assert any("skipped" in notice for notice in chat.notices)
        assert "measuring" not in str(line.content)


async def test_a_prompt_sent_while_another_is_answered_is_queued_and_runs(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.type("hello")
        assert "next: hello" in str(chat.app.chat.query_one(QueueList).content)
        await chat.pilot.press("escape")
        await chat.until(lambda: len(chat.answers) == 2)
        assert chat.answers[1].text == TEXT
        assert chat.app.state.queued == []


async def test_control_characters_and_markup_are_shown_never_obeyed(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        answer = await chat.ask("controls")
        assert "\x1b" in answer.text
        for sign in ("[bold]not", "[/oops]", "␛[31m", "\\x9b2J", "\\u202e"):
            await chat.until(lambda sign=sign: sign in chat.screen)
        await chat.ask("[red]mine[/red] [/bad]")
        assert chat.app.chat.query(UserMessage).last().text == "[red]mine[/red] [/bad]"
        await chat.until(lambda: "[red]mine[/red]" in chat.screen)


async def test_clear_begins_a_new_conversation_even_while_answering(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        await chat.type("/clear")
        await chat.until(lambda: not chat.app.chat.query(LiveAnswer))
        assert chat.prompts == []
        assert (await chat.ask("hello")).text == TEXT


async def test_finished_answers_can_keep_their_marks(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        answer = await chat.ask("hello")
        await chat.pilot.press("f3")
        await chat.until(lambda: answer.marks)
        later = await chat.ask("again")
        assert later.marks
        await chat.pilot.press("f3")
        await chat.until(lambda: not any(answer.marks for answer in chat.app.chat.query(Answer)))


async def test_the_status_line_keeps_what_matters_most_at_forty_columns(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 20)) as chat:
        await chat.ask("hello")
        line = str(chat.app.chat.query_one(StatusLine).content)
        assert "scripted" in line and "drafting on" in line
        assert all(widget.size.width <= 40 for widget in chat.app.chat.query("*"))


async def test_ctrl_q_leaves_at_once_with_code_0(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: chat.app._exit)
        assert chat.app.return_code == 0


async def test_ctrl_c_leaves_only_when_pressed_twice(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.pilot.press("ctrl+c")
        assert not chat.app._exit
        await chat.pilot.press("ctrl+c")
        await chat.until(lambda: chat.app._exit)


async def test_help_lists_every_key_and_command(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 150)) as chat:
        await chat.pilot.press("f1")
        for word in ("F4", "F5", "/compare", "/draft on|off", "Ctrl+Q", "word for word"):
            await chat.until(lambda word=word: word in chat.screen)
        await chat.pilot.press("escape")
        assert chat.app.screen is chat.app.chat


async def test_the_view_follows_the_answer_until_the_person_scrolls_away(open_chat: OpenChat) -> None:
    async with open_chat(size=(50, 16)) as chat:
        view = chat.app.chat.transcript

        async def follows(height: int) -> None:
            """It stays at the end, if not between a line and the scrolling to it."""
            await chat.until(lambda: view.max_scroll_y > height and view.is_vertical_scroll_end)

        await chat.type("slow")
        await follows(12)
        await chat.pilot.press("pageup")
        await chat.until(lambda: view.max_scroll_y - view.scroll_y > view.size.height // 2)
        place, height = view.scroll_y, view.max_scroll_y
        await chat.until(lambda: view.max_scroll_y > height + 4)
        assert view.scroll_y == place
        await chat.pilot.press("ctrl+end")
        await follows(view.max_scroll_y)
        await follows(view.max_scroll_y + 4)


async def test_a_finished_answer_follows_a_change_of_theme(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        answer = await chat.ask("hello")
        await chat.until(lambda: answer.size.height > 1)

        def brightness() -> float:
            strip = answer.render_line(answer.size.height - 1)
            style = next(segment.style for segment in strip if segment.text.strip())
            assert style is not None and style.color is not None and style.color.triplet is not None
            return sum(style.color.triplet)

        dark = brightness()
        chat.app.theme = "textual-light"
        await chat.until(lambda: brightness() < dark - 50)


async def test_a_prompt_that_waits_for_a_pair_is_answered_by_the_one_chosen_meanwhile(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat(pair="slow to load") as chat:
        await chat.type("hello")
        await chat.until(lambda: chat.app.state.running is not None)
        chat.app.opener.use(next(pair for pair in all_pairs() if pair.name != "builtin"))
        (tmp_path / "load").touch()
        await chat.until(lambda: len(chat.answers) == 1)
        answer = chat.app.state.conversation.path[-1]
        assert chat.prompts == ["hello"] and answer.text.startswith("The target")
        assert answer.facts is not None
        assert (answer.facts.pair, answer.facts.finish) == (chat.app.link.pair.name, "stop")


async def test_another_pair_ends_an_answer_that_has_text_and_leaves_an_edited_prompt_alone(
    open_chat: OpenChat,
) -> None:
    pairs = [pair for pair in all_pairs() if pair.name != "builtin"]
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        await chat.type("later")
        chat.app.opener.use(pairs[0])
        await chat.until(lambda: len(chat.answers) == 2)
        stopped, later = (chat.app.state.conversation.path[place].facts for place in (1, 3))
        assert stopped is not None and (stopped.pair, stopped.finish) == ("scripted", "cancelled")
        assert later is not None and (later.pair, later.finish) == (pairs[0].name, "stop")
        await chat.type("/edit")
        await chat.until(lambda: chat.app.state.editing is not None)
        chat.app.opener.use(pairs[1])
        assert chat.app.state.editing is not None and chat.app.chat.prompt.area.text == "later"
