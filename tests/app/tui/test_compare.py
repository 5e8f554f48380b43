"""The comparison screen on a scripted engine: plain rounds take 20 ms there, drafted ones 10 ms."""

import re
from pathlib import Path

import pytest
from textual.widgets import Digits, OptionList, Static

from app.chat.attachments import attach
from app.compare import store
from app.compare.record import Record
from app.compare.words import sentence
from app.engine.events import text_of
from app.engine.protocol import Loaded
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.widgets.answer import Answer
from app.tui.widgets.comparison_view import ComparePane
from app.tui.widgets.race import Bars
from models.paths import data_folder
from tests.app.tui.chat_driver import Chat, OpenChat


async def compared(chat: Chat, command: str = "") -> tuple[CompareScreen, Record]:
    """Run a comparison to its end, with F5 if no command starts it."""
    await (chat.type(command) if command else chat.press("f5"))
    screen = await chat.reached(CompareScreen)
    await chat.until(lambda: screen.record is not None)
    assert screen.record is not None
    return screen, screen.record


def text_in(pane: ComparePane) -> str:
    return pane.query_one(Answer).text


async def test_the_texts_are_whole_again_at_a_width_that_the_terminal_had_before(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24), asked="hello") as chat:
        await compared(chat)
        await chat.shows("The target checks what the draft", "per round.", "e Export")
        await chat.until(lambda: chat.screen.count("guessed: 日本") == 2)
        before = chat.screen
        for width in (120, 80, 120, 80):
            await chat.pilot.resize_terminal(width, 24)
            await chat.until(lambda: (chat.screen == before) is (chat.app.size.width == 80))


async def test_a_prompt_above_the_texts_that_is_too_long_for_its_line_ends_in_dots(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(120, 40), asked="hello " * 40) as chat:
        await chat.reached(CompareScreen, by="f5")
        for height in (40, 12):
            await chat.pilot.resize_terminal(120, height)
            await chat.until(lambda: re.search(r"Compare .* hello hello .*…", chat.screen) is not None)


async def test_both_runs_fill_panes_that_scroll_together_and_have_a_verdict(open_chat: OpenChat) -> None:
    async with open_chat(size=(120, 24)) as chat:
        await chat.noticed("no prompt yet", "/compare all, /sweep prompts=all", by="f5")
        answer = await chat.ask("think")
        screen, record = await compared(chat)
        assert record.repeats == 3
        (place,) = record.drafting
        assert record.comparison(place).ratio == pytest.approx(2.0)
        panes = [screen.query_one(name, ComparePane) for name in ("#plain", "#drafted")]
        assert list(map(text_in, panes)) == [answer.text] * 2
        for width in (120, 40):
            await chat.pilot.resize_terminal(width, 24)
            await chat.until(lambda: all(pane.region.right <= chat.app.size.width for pane in panes))
            await chat.until(lambda width=width: (panes[0].region.x == panes[1].region.x) is (width == 40))
        assert str(panes[1].border_subtitle).endswith(" s, 100% accepted")
        assert [str(pane.border_title) for pane in panes] == ["Plain", "Drafted: auto"]
        for size, large in (((120, 24), True), ((40, 24), False), ((120, 12), False)):
            await chat.pilot.resize_terminal(*size)
            ratio, words = screen.query_one("#ratio", Digits), screen.query_one("#verdict", Static)
            await chat.until(lambda ratio=ratio, large=large: ratio.display is large)
            assert ratio.value == "2.00x"
            assert "2.00x faster, same text" in str(words.content)
            assert "2.00 to 2.00 over 3 repeats" in str(words.content)
        await chat.pilot.resize_terminal(40, 12)
        await chat.shows("─ Plain ─", "─ Drafted: auto ─")
        await chat.pilot.resize_terminal(44, 18)
        await chat.until(lambda: all(pane.max_scroll_y > 0 for pane in panes))
        await chat.until(lambda: all(pane.scroll_y == 0 for pane in panes), by=(*["pageup"] * 9,))
        await chat.until(lambda: all(pane.scroll_y > 0 for pane in panes), by="pagedown")
        await chat.back_in_chat(by="escape")
        assert len(chat.prompts) == 1


async def test_a_comparison_that_is_run_again_begins_with_empty_panes(open_chat: OpenChat) -> None:
    async with open_chat(asked="wait at 10") as chat:  # after the prompt, two to warm up and six runs
        screen, _ = await compared(chat)
        panes = [screen.query_one(name, ComparePane) for name in ("#plain", "#drafted")]
        assert all(map(text_in, panes))
        await chat.until(lambda: "Warming up" in chat.screen and not any(map(text_in, panes)), by="f5")
        await chat.until(lambda: screen.progress is None, by="escape")


async def test_figures_are_shown_after_the_texts_were_scrolled(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12), asked="hello") as chat:
        screen, _ = await compared(chat)
        pane = screen.query_one("#plain", ComparePane)
        await chat.until(lambda: pane.max_scroll_y > 0 and pane.scroll_y == 0)
        before = chat.screen
        await chat.until(lambda: pane.scroll_y > 0 and chat.screen != before, by="pagedown")
        await chat.shows("setting tok/s ratio", by="v")


async def test_a_comparison_needs_and_frees_the_engine_and_explains_differences(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.stream()
        await chat.noticed("being written", by="f5")
        assert chat.app.screen is chat.app.chat
        await chat.answered(1, by="escape")
        screen = await chat.reached(CompareScreen, by="/compare")
        await chat.until(lambda: bool(screen.query_one("#plain").query_one(Answer).text))
        await chat.shows("Run 1 of 6: plain, repeat 1 of 3. Esc stops and compares the finished runs.")
        await chat.until(lambda: screen.progress is None, by="escape")
        assert screen.record is None and store.kept().records == ()
        await chat.back_in_chat(by="escape")
        again = await chat.reached(CompareScreen, by="f5")
        await chat.until(lambda: bool(again.query_one("#plain").query_one(Answer).text))
        chat.app.runner.return_to_chat()
        await chat.ask("differ")
        screen, record = await compared(chat)
        difference = record.outcomes[1].difference
        assert difference is not None and difference.near_tie
        assert "near-ties that rounding explains" in sentence(record)
        info = chat.app.link.info
        assert info is not None
        await chat.app.chat.remove_children()
        chat.app.link.listener(Loaded(info))
        await chat.pilot.pause()
        chat.app.exit()


async def test_a_comparison_can_be_stopped_while_measuring_and_left_when_unheard(open_chat: OpenChat) -> None:
    async with open_chat(pair="untuned") as chat:
        await chat.until(lambda: chat.app.link.tuning is not None)
        screen = await chat.reached(CompareScreen, by="/compare all")
        await chat.noticed("Measuring was skipped", by="escape")
        await chat.until(lambda: screen.progress is None)
    async with open_chat(pair="slow to load") as chat:
        await chat.reached(CompareScreen, by="/compare all")
        await chat.shows("Stopping. Esc goes back meanwhile.", by="escape")
        await chat.back_in_chat(by="escape")
        (data_folder() / "load").touch()
        assert (await chat.ask("hello")).text


async def test_the_bars_of_the_first_run_leave_the_warm_up_out(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.stream()
        await chat.settled(by="escape")
        screen = await chat.reached(CompareScreen, by="f5")
        plain, bars = screen.query_one("#plain", ComparePane), screen.query_one(Bars)
        await chat.until(lambda: len(text_in(plain)) > 0)
        assert 0 < bars.shares()[0] < 1
        assert bars.shares()[1] == 0, "drafting was only warmed up so far"
        assert not bars.drafted.tokens_per_second
        await chat.until(lambda: screen.progress is None, by="escape")


async def test_a_comparison_is_given_the_attached_files_as_the_chats_own_answer_is(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.compare.request.SWEEP_LENGTHS", (None, 0, 1))
    monkeypatch.setattr("app.compare.request.COMPARE_REPEATS", 1)
    (tmp_path / "notes.txt").write_text("what the notes say")
    async with open_chat() as chat:
        chat.app.chat.prompt.attach(attach(tmp_path / "notes.txt", None))
        answer = await chat.ask("echo")
        assert "what the notes say" in answer.text and "|1 documents" in answer.text
        screen, record = await compared(chat)
        assert {text_of(outcome.pieces) for outcome in record.outcomes} == {answer.text}
        assert record.prompts[0].prompt == "echo (with notes.txt)"
        await chat.until(lambda: screen.record not in (record, None), by="s")
        assert screen.record is not None and text_of(screen.record.outcomes[-1].pieces) == answer.text
        await chat.until(lambda: bool(screen.query("LengthPlot Grid")))


async def test_a_failing_engine_ends_a_comparison_what_ran_is_judged_and_kept(open_chat: OpenChat) -> None:
    """An answer in the chat, two to warm up, then plain, drafted, drafted: the eighth is the fifth."""
    async with open_chat(process=True) as chat:

        async def broken_off(prompt: str) -> tuple[CompareScreen, str]:
            await chat.ask(prompt)
            screen = await chat.reached(CompareScreen, by="f5")
            await chat.until(lambda: screen.progress is None)
            # The engine is ready again without a new request.
            await chat.until(lambda: chat.app.link.state == "ready")
            verdict = str(screen.query_one("#verdict", Static).content)
            await chat.press("escape")
            return screen, verdict

        pid = chat.app.link.client.pid
        screen, verdict = await broken_off("fail at 5")
        assert "memory" in verdict and "after 1 of 6 runs" in verdict and "too little to judge" in verdict
        assert screen.record is None and store.kept().records == ()
        for prompt, reason in (("fail at 13", "Out of memory"), ("crash at 21", "ended by SIGKILL")):
            assert chat.app.link.client.pid == pid
            screen, verdict = await broken_off(prompt)
            record = screen.record
            assert record is not None and record.repeats == 2
            assert record.broken_off.startswith("after 4 of 6 runs: ") and reason in record.broken_off
            assert record.facts["device"] == "test (cpu)"
            assert store.kept().records[0] == record
            assert "faster, same text" in verdict and "Broken off after 4 of 6 runs" in verdict
        assert chat.app.link.client.pid != pid
        (data_folder() / "comparisons" / "damaged.json").write_text("{")
        await chat.reached(ComparisonsScreen, by="/comparisons")
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: rows.option_count == 2)
        title = chat.app.screen.query_one("#comparisons-title", Static)
        assert str(title.content) == "2 comparisons, 1 file cannot be read"
        assert "broken off" in str(rows.get_option_at_index(0).prompt)
        await chat.press("escape")
        assert (await chat.ask("hello")).text


async def test_a_comparison_that_is_left_is_kept_as_broken_off(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:

        async def swept(runs: int) -> CompareScreen:
            screen = await chat.reached(CompareScreen, by="/sweep length=1-2 repeats=50")
            await chat.until(lambda: screen.progress is not None and screen.progress.collector.count > runs)
            return screen

        def offered() -> set[str]:
            return {b.binding.action for b in screen.active_bindings.values() if b.node is screen}

        screen = await swept(3)
        assert {"again", "sweep", "view", "export"}.isdisjoint(offered()) and "stop" in offered()
        await chat.until(lambda: screen.progress is None, by=("s", "v", "e", "escape"))
        assert offered() >= {"again", "sweep", "view", "export", "dismiss"}
        assert screen.record is not None and len(screen.record.settings) == 3
        await chat.press("escape")
        await swept(1)
        await chat.until(lambda: len(store.kept().records) == 2, by="f2")
        assert "left before its end" in store.kept().records[0].broken_off
        await chat.press("escape")
        assert (await chat.ask("hello")).text
        await swept(1)
        await chat.press("ctrl+p", *"/comparisons")
        listed = await chat.reached(ComparisonsScreen, by="enter")
        assert len(listed.records) == 3
        await chat.press("escape")
        await swept(1)
        chat.app.exit()
    assert [bool(record.broken_off) for record in store.kept().records] == [True, True, True, True]


async def test_a_comparison_that_is_left_too_early_to_judge_says_so(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.stream()
        await chat.settled(by="escape")
        screen = await chat.reached(CompareScreen, by="f5")
        await chat.until(lambda: screen.progress is not None and screen.progress.run is not None)
        await chat.noticed("You left the comparison: it broke off before both ways had run once", by="f2")
        assert store.kept().records == ()


def test_the_bars_race_as_the_two_ran_and_end_as_long_as_they_were_fast() -> None:
    bars = Bars()
    bars.begin(bars.plain, token_limit=8)
    for n in range(1, 5):
        bars.add(n * 0.2, n, 5.0)
    assert bars.shares() == (0.5, 0.0), "of the tokens that an answer may have"
    bars.begin(bars.drafted, token_limit=8)
    bars.add(0.2, 2, 10.0)
    assert bars.shares() == (0.25, 0.5), "the plain run had one token by then"
    bars.add(0.4, 4, 10.0)
    assert bars.shares() == (0.5, 1.0)
    bars.show(5.0, 10.0, "")
    assert bars.shares() == (0.5, 1.0)
    bars.clear()
    assert bars.shares() == (0.0, 0.0)
