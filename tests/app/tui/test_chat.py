"""The chat screen on a scripted engine: messages and state, not pixels."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.settings.options import AnswerOptions
from app.tui.widgets.answer import Answer
from app.tui.widgets.below import QueueList
from app.tui.widgets.item_line import ItemLine
from models.pairs.catalogue import all_pairs
from models.pairs.pair import PairSpec
from tests.app.tui.chat_driver import OpenChat, keys_shown

TEXT = "The target checks what the draft guessed: 日本 👩‍💻."


def brightness(answer: Answer) -> float:
    """The brightness of the last line's colour."""
    strip = answer.render_line(answer.size.height - 1)
    style = next(segment.style for segment in strip if segment.text.strip())
    assert style is not None and style.color is not None and style.color.triplet is not None
    return sum(style.color.triplet)


async def test_an_empty_chat_names_pair_and_drafters_and_answers_drafted_or_not(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        await chat.shows("scripted · 1.0 MB · test (cpu)", "drafters: lookup, model")
        answer = await chat.ask("hello")
        await chat.until(lambda: answer.size.height > 1)
        assert answer.text == TEXT and not chat.growing
        assert "6 tokens" in answer.stats and "accepted 3/3, " in answer.stats
        assert [message.text for message in chat.app.state.conversation.path[1:]] == [TEXT]
        dark = brightness(answer)
        chat.app.theme = "textual-light"
        await chat.until(lambda: brightness(answer) < dark - 50)
        await chat.until(lambda: answer.marks, by=("f4", "f3"))
        later = await chat.ask("hello")
        assert "no draft" in later.stats and later.marks
        await chat.type("/draft on")
        assert "accepted 3/3" in (await chat.ask("hello")).stats
        await chat.until(lambda: not any(answer.marks for answer in chat.app.chat.query(Answer)), by="f3")
        await chat.until(lambda: later.marks, by=("slash", *"marks", "enter"))  # as F3 does


async def test_a_chat_without_drafting_can_draft_and_tells_once_what_is_dropped(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 20), options=AnswerOptions(draft_length=0)) as chat:
        assert "no draft" in (await chat.ask("hello")).stats
        await chat.press("f4")
        assert "accepted 3/3" in (await chat.ask("hello")).stats
        line = str(chat.app.chat.query_one("#status", ItemLine).content)
        assert "scripted" in line and "drafting on" in line
        assert all(widget.size.width <= 40 for widget in chat.app.chat.query("*"))
        for _ in range(2):
            await chat.ask("long")
        told = [notice for notice in chat.notices if "its oldest 2 messages are not read" in notice]
        assert len(told) == 1 and "to leave room for the answer" in told[0]


async def test_a_marked_answer_streams_esc_keeps_it_and_what_waits_runs(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.press("f3")
        await chat.stream()
        await chat.until(lambda: not chat.area.cursor_blink)
        [live] = chat.growing
        assert {piece.mark for piece in live.pieces} == {"accepted", "bonus"}

        def marked() -> bool:
            """Awaited: F3 runs a command, and text is drawn a little after it arrives."""
            line = [segment for segment in live.render_line(0) if segment.text.startswith("The target")]
            return any(segment.style is not None and segment.style.underline for segment in line)

        await chat.until(marked)
        await chat.type("hello")
        assert "next: hello" in str(chat.app.chat.query_one(QueueList).content)
        await chat.answered(2, by=("tab", "escape"))
        stopped, later = chat.answers
        assert stopped.text.startswith("The target") and "stopped by you" in stopped.stats
        assert chat.app.state.conversation.path[1].text == stopped.text
        assert later.text == TEXT and chat.app.state.queued == []
        assert chat.app.focused is chat.app.chat.transcript
        await chat.press("escape")
        assert chat.app.focused is chat.area
        await chat.until(lambda: chat.area.cursor_blink)


async def test_esc_on_the_messages_stops_an_answer_and_pressed_again_before_that_is_done_goes_back(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat() as chat:
        await chat.stream("hold")
        monkeypatch.setattr(chat.app.link, "cancel", lambda _: None)  # the engine is in a long round
        await chat.shows("stopping", by=("tab", "escape"))
        assert chat.app.focused is chat.app.chat.transcript
        await chat.until(lambda: "Esc Back" in keys_shown(chat) and "Stop" not in keys_shown(chat))
        await chat.press("escape")
        assert chat.app.focused is chat.area


@pytest.mark.parametrize("by", ["a key", "another pair"])
async def test_measuring_can_be_skipped_and_a_waiting_prompt_counts(open_chat: OpenChat, by: str) -> None:
    async with open_chat(pair="untuned") as chat:
        await chat.type("x" * 400)
        await chat.shows("context ~100/4096")  # before the engine has counted it
        await chat.until(lambda: chat.app.link.tuning is not None)
        line = chat.app.chat.query_one("#status", ItemLine)
        await chat.until(lambda: "measuring drafting" in str(line.content))
        if by == "a key":
            await chat.press("escape")
        else:
            chat.app.runner.use(next(pair for pair in all_pairs() if pair.name != "builtin"))
        await chat.until(lambda: chat.app.link.tuning is None)
        await chat.settled()
        assert any("skipped" in notice for notice in chat.notices) is (by == "a key")
        assert "measuring" not in str(line.content)


async def test_the_view_follows_until_one_scrolls_clear_ends_it_ctrl_q_leaves(open_chat: OpenChat) -> None:
    async with open_chat(size=(50, 16)) as chat:
        view = chat.app.chat.transcript

        async def follows(height: int) -> None:
            """The view stays at the end, except between a new line and the scrolling to it."""
            await chat.until(lambda: view.max_scroll_y > height and view.is_vertical_scroll_end)

        await chat.type("slow")
        await follows(12)
        await chat.until(lambda: view.max_scroll_y - view.scroll_y > view.size.height // 2, by="pageup")
        place, height = view.scroll_y, view.max_scroll_y
        await chat.until(lambda: view.max_scroll_y > height + 4)
        assert view.scroll_y == place
        await chat.press("ctrl+end")
        await follows(view.max_scroll_y + 4)
        await chat.until(lambda: not chat.growing, by="/clear")
        assert chat.prompts == []
        assert (await chat.ask("hello")).text == TEXT
        await chat.type("slow")
        await chat.exited(by="ctrl+q")
        assert chat.app.return_code == 0


async def test_a_waiting_prompt_is_answered_by_the_pair_chosen(open_chat: OpenChat, tmp_path: Path) -> None:
    async with open_chat(pair="slow to load") as chat:
        await chat.type("hello")
        await chat.until(lambda: "loading" in str(chat.app.chat.query_one("#status", ItemLine).content))
        assert chat.app.link.state == "loading" and not chat.answers
        chat.app.runner.use(next(pair for pair in all_pairs() if pair.name != "builtin"))
        (tmp_path / "load").touch()
        await chat.until(lambda: len(chat.answers) == 1)
        answer = chat.app.state.conversation.path[-1]
        assert chat.prompts == ["hello"] and answer.text.startswith("The target")
        assert answer.facts is not None
        assert (answer.facts.pair, answer.facts.finish) == (chat.app.link.pair.name, "stop")


async def test_indexed_documents_are_named_and_outlast_a_pair(open_chat: OpenChat, tmp_path: Path) -> None:
    async with open_chat(pair="slow to load") as chat:
        link = chat.app.link
        link.pair = replace(link.pair, documents=("/notes",))
        link.use(link.pair)
        (tmp_path / "load").touch()
        await chat.until(lambda: link.state == "ready" and not link.indexing)
        (tmp_path / "load").unlink()
        link.use(PairSpec("slow to load", link.pair.target, None))
        status = chat.app.chat.query_one("#status", ItemLine)
        await chat.until(lambda: "Indexing /notes, once: 50 of 70 files" in str(status.content))
        (tmp_path / "load").touch()
        await chat.until(lambda: "Indexing" not in str(status.content))
        assert link.state == "ready"


async def test_another_pair_ends_an_answer_and_leaves_the_chat_and_an_edit_alone(open_chat: OpenChat) -> None:
    pairs = [pair for pair in all_pairs() if pair.name != "builtin"]
    async with open_chat(asked="hello") as chat:
        chat.app.link.use(PairSpec("other", chat.app.link.pair.target, None))
        await chat.until(lambda: chat.app.link.info is not None and chat.app.link.info.name == "other")
        await chat.shows("context ~16/")  # the count of the pair before is an estimate for this one
        await chat.stream()
        await chat.shows("context 1")
        await chat.type("later")
        chat.app.runner.use(pairs[0])
        await chat.until(lambda: len(chat.answers) == 3)
        assert chat.prompts == ["hello", "slow", "later"]
        stopped, later = (chat.app.state.conversation.path[place].facts for place in (3, 5))
        assert stopped is not None and (stopped.pair, stopped.finish) == ("other", "cancelled")
        assert later is not None and (later.pair, later.finish) == (pairs[0].name, "stop")
        await chat.until(lambda: chat.app.state.editing is not None, by="/edit")
        chat.app.runner.use(pairs[1])
        assert chat.app.state.editing is not None and chat.area.text == "later"


async def test_where_another_pair_ended_the_answer_its_context_is_an_estimate(open_chat: OpenChat) -> None:
    pair = next(pair for pair in all_pairs() if pair.name != "builtin")
    async with open_chat() as chat:
        await chat.stream()
        chat.app.runner.use(pair)
        await chat.settled()
        await chat.until(lambda: chat.app.link.state == "ready")
        await chat.shows(f"● {pair.name}", "context ~")
