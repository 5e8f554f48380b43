"""The comparison screen on a scripted engine: plain rounds take 20 ms there, drafted ones 10 ms."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.widgets import ContentSwitcher, OptionList, Static

from app.compare import store
from app.tui.messages import PairLoaded
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.widgets.compare_pane import ComparePane
from app.tui.widgets.comparison_figures import ComparisonFigures, FittedTable
from app.tui.widgets.length_plot import TICKS, LengthPlot, ticks
from tests.app.tui.chat_driver import Chat, OpenChat


async def opened(chat: Chat) -> CompareScreen:
    await chat.until(lambda: isinstance(chat.app.screen, CompareScreen))
    screen = chat.app.screen
    assert isinstance(screen, CompareScreen)
    return screen


async def after_a_slow_answer(chat: Chat) -> None:
    """The last prompt is one whose answer never ends by itself."""
    await chat.type("slow")
    await chat.until(lambda: bool(chat.app.chat.running and chat.app.chat.running.text))
    await chat.pilot.press("escape")
    await chat.until(lambda: bool(chat.answers))


async def test_both_runs_fill_their_panes_and_the_verdict_has_ratio_and_sameness(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        answer = await chat.ask("hello")
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        assert screen.record is not None and screen.record.repeats == 3
        (place,) = screen.record.drafting
        assert screen.record.comparison(place).ratio == pytest.approx(2.0)
        assert screen.query_one("#plain", ComparePane).text == answer.text
        assert screen.query_one("#drafted", ComparePane).text == answer.text
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        assert any("2.00 times as fast" in notice and "identical" in notice for notice in chat.notices)
        assert len(chat.prompts) == 1


async def test_a_pane_says_of_several_runs_what_the_figures_say(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        assert screen.record is not None
        (place,) = screen.record.drafting
        outcome = screen.record.outcome(0, place)
        first, second, _ = outcome.runs
        slower = replace(second, tokens_per_second=first.tokens_per_second / 2, draft_n_accepted=0)
        changed = replace(outcome, runs=(first, slower))
        others = tuple(other for other in screen.record.outcomes if other is not outcome)
        plain = replace(others[0], runs=others[0].runs[:2])
        figures = replace(screen.record, outcomes=(plain, changed)).comparison(place)
        pane = screen.query_one("#drafted", ComparePane)
        pane.show("", changed)
        said = str(pane.query_one(".numbers", Static).render())
        assert said.startswith(f"{figures.drafted_tps:.0f} tok/s")
        assert f"{figures.acceptance_rate:.0%}, {figures.accepted_per_round:.2f} per round" in said


async def test_page_keys_scroll_both_texts_together(open_chat: OpenChat) -> None:
    async with open_chat(size=(44, 18)) as chat:
        await chat.ask("think")
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        sides = list(screen.query(ComparePane).results())
        scrolls = [side.query_one(VerticalScroll) for side in sides]
        await chat.until(lambda: all(scroll.max_scroll_y > 0 for scroll in scrolls))
        # A text that grew past its pane was followed to its end.
        await chat.pilot.press(*["pageup"] * 9)
        await chat.until(lambda: all(scroll.scroll_y == 0 for scroll in scrolls))
        await chat.pilot.press("pagedown")
        await chat.until(lambda: all(scroll.scroll_y > 0 for scroll in scrolls))


async def test_esc_stops_a_comparison_and_a_second_one_goes_back(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await after_a_slow_answer(chat)
        await chat.type("/compare")
        screen = await opened(chat)
        await chat.until(lambda: bool(screen.query_one("#plain", ComparePane).text))
        await chat.pilot.press("escape")
        await chat.until(lambda: screen.progress is None)
        assert screen.record is None and store.kept().records == ()
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        assert (await chat.ask("hello")).text


async def test_a_comparison_needs_a_prompt_and_a_free_engine(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.pilot.press("f5")
        assert any("no prompt to compare" in notice for notice in chat.notices)
        await chat.type("slow")
        await chat.pilot.press("f5")
        assert any("being written" in notice for notice in chat.notices)
        assert chat.app.screen is chat.app.chat


@pytest.mark.parametrize(("width", "stacked"), [(120, False), (40, True)])
async def test_panes_stand_side_by_side_or_stacked(open_chat: OpenChat, width: int, stacked: bool) -> None:
    async with open_chat(size=(width, 24)) as chat:
        await chat.ask("hello")
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        plain, drafted = (screen.query_one(name, ComparePane).region for name in ("#plain", "#drafted"))
        assert (plain.x == drafted.x) is stacked
        assert plain.right <= width and drafted.right <= width


async def test_leaving_a_comparison_by_another_key_frees_the_engine(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await after_a_slow_answer(chat)
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: bool(screen.query_one("#plain", ComparePane).text))
        chat.app.return_to_chat()
        assert (await chat.ask("hello")).text


async def test_a_comparison_is_given_the_attached_files_as_the_chats_own_answer_is(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("what the notes say")
    async with open_chat() as chat:
        chat.app.chat.attach(str(tmp_path / "notes.txt"))
        answer = await chat.ask("echo")
        assert "what the notes say" in answer.text and "|1 documents" in answer.text
        for command in ("/compare", "/sweep length=1 repeats=1"):
            await chat.type(command)
            screen = await opened(chat)
            await chat.until(lambda screen=screen: screen.record is not None)
            assert screen.record is not None
            assert {outcome.text for outcome in screen.record.outcomes} == {answer.text}
            assert screen.record.prompts[0].prompt == "echo (with notes.txt)"
            await chat.pilot.press("s")
            await chat.until(lambda screen=screen: screen.progress is not None)
            await chat.until(lambda screen=screen: screen.progress is None)
            assert screen.record is not None and screen.record.outcomes[-1].text == answer.text
            await chat.pilot.press("escape")
            await chat.until(lambda: chat.app.screen is chat.app.chat)


@pytest.mark.parametrize(("how", "reason"), [("crash", "ended by SIGKILL"), ("fail", "Out of memory")])
async def test_a_failing_engine_breaks_a_comparison_off_and_what_ran_is_judged_kept_and_told(
    open_chat: OpenChat, how: str, reason: str
) -> None:
    """One answer in the chat, two to warm up, then plain, drafted, drafted: the eighth is the fifth."""
    async with open_chat(process=True) as chat:
        await chat.ask(f"{how} at 8")
        pid = chat.app.link.client.pid
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.progress is None)
        record = screen.record
        assert record is not None and record.repeats == 2
        assert record.broken_off.startswith("after 4 of 6 runs: ") and reason in record.broken_off
        assert record.facts["device"] == "test (cpu)"
        assert store.kept().records == (record,)
        verdict = str(screen.query_one("#verdict", Static).content)
        assert "2.00 times as fast" in verdict and "Broken off after 4 of 6 runs" in verdict
        # The engine is there again before anybody asks it something.
        await chat.until(lambda: chat.app.link.state == "ready")
        assert (chat.app.link.client.pid != pid) is (how == "crash")
        await chat.pilot.press("escape")
        await chat.until(lambda: any("Broken off after 4 of 6" in notice for notice in chat.notices))
        await chat.type("/comparisons")
        await chat.until(lambda: isinstance(chat.app.screen, ComparisonsScreen))
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: rows.option_count == 1)
        assert "broken off" in str(rows.get_option_at_index(0).prompt)
        await chat.pilot.press("escape")
        assert (await chat.ask("hello")).text


async def test_a_comparison_that_breaks_off_too_early_says_so_and_keeps_nothing(open_chat: OpenChat) -> None:
    async with open_chat(process=True) as chat:
        await chat.ask("crash at 5")
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.progress is None)
        verdict = str(screen.query_one("#verdict", Static).content)
        assert "SIGKILL" in verdict and "after 1 of 6 runs" in verdict and "too little to judge" in verdict
        assert screen.record is None and store.kept().records == ()
        # A new process counts from its own first answer, so it comes one run further.
        await chat.pilot.press("f5")
        await chat.until(lambda: screen.record is not None)
        assert screen.record is not None and "after 2 of 6 runs" in screen.record.broken_off


async def test_keys_that_would_do_nothing_are_not_offered(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.type("/sweep length=1-8 repeats=40")
        screen = await opened(chat)
        await chat.until(lambda: screen.progress is not None and screen.progress.count > 9)

        def offered() -> set[str]:
            return {b.binding.action for b in screen.active_bindings.values() if b.node is screen}

        assert {"again", "sweep", "view", "export"}.isdisjoint(offered()) and "stop" in offered()
        await chat.pilot.press("s", "v", "e", "escape")
        await chat.until(lambda: screen.progress is None)
        assert offered() >= {"again", "sweep", "view", "export", "stop"}
        assert screen.record is not None and len(screen.record.settings) == 9


async def test_a_comparison_left_by_another_key_is_kept_as_broken_off(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.type("/sweep length=1-8 repeats=40")
        screen = await opened(chat)
        await chat.until(lambda: screen.progress is not None and screen.progress.count > 1)
        await chat.pilot.press("f2")
        await chat.until(lambda: len(store.kept().records) == 1)
        assert "left before its end" in store.kept().records[0].broken_off
        await chat.pilot.press("escape")
        assert (await chat.ask("hello")).text
        await chat.type("/sweep length=1-8 repeats=40")
        again = await opened(chat)
        await chat.until(lambda: again.progress is not None and again.progress.count > 1)
        chat.app.exit()
    assert [bool(record.broken_off) for record in store.kept().records] == [True, True]


async def test_a_pair_that_is_loaded_while_the_program_ends_disturbs_nothing(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        info = chat.app.link.info
        assert info is not None
        await chat.app.chat.remove_children()
        chat.app.post_message(PairLoaded(info))
        await chat.pilot.pause()
        chat.app.exit()


async def test_texts_that_differ_are_explained_by_the_engine(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("differ")
        await chat.pilot.press("f5")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        assert screen.record is not None
        difference = screen.record.outcomes[1].difference
        assert difference is not None and difference.near_tie
        await chat.until(lambda: any("near-ties that rounding explains" in n for n in chat.notices))


async def test_a_sweep_is_plotted_kept_listed_shown_again_exported_and_deleted(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    exports = tmp_path_factory.mktemp("exports")
    monkeypatch.chdir(exports)
    async with open_chat(size=(80, 24)) as chat:
        await chat.ask("hello")
        await chat.type("/sweep length=0-2 drafter=model,lookup repeats=1")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        assert screen.record is not None
        labels = [setting.label for setting in screen.record.settings]
        assert labels == ["plain", "model 1", "model 2", "lookup 1", "lookup 2"]
        await chat.until(lambda: bool(screen.query(LengthPlot)))
        assert [line.lengths for line in screen.query_one(LengthPlot).lines] == [(0, 1, 2), (0, 1, 2)]
        assert screen.query_one(ContentSwitcher).current == "figures"
        legend = str(screen.query_one(ComparisonFigures).query(Static).first().content)
        assert "● model" in legend and "◆ lookup" in legend
        await chat.pilot.press("escape")
        await chat.type("/comparisons")
        await chat.until(lambda: isinstance(chat.app.screen, ComparisonsScreen))
        await chat.until(lambda: chat.app.screen.query_one(OptionList).option_count == 1)
        chat.press_at_once("enter", "enter")  # shown once, as Esc below will tell
        again = await opened(chat)
        await chat.until(lambda: bool(again.query(LengthPlot)))
        await chat.until(lambda: again.query_one(FittedTable).size.height == 1 + len(labels))
        await chat.pilot.press("e")
        await chat.until(lambda: len(list(exports.iterdir())) == 3)
        assert {file.suffix for file in exports.iterdir()} == {".json", ".csv", ".png"}
        names = [f"comparison-{screen.record.name}{suffix}" for suffix in (".json", ".csv", ".png")]
        written = f"Written: {', '.join(names)} in {exports}"
        await chat.until(lambda: any(note.message == written for note in chat.app._notifications))
        (file,) = exports.glob("*.json")
        assert {"versions", "device", "pair", "options", "verdicts"} <= set(json.loads(file.read_text()))
        await chat.pilot.press("v")
        assert again.query_one("#drafted", ComparePane).border_title == "With drafting: model 1"
        await chat.pilot.press("down")
        assert again.query_one("#drafted", ComparePane).border_title == "With drafting: model 2"
        await chat.pilot.press("escape", "d", "y")
        await chat.until(lambda: store.kept().records == ())


async def test_in_40_columns_every_category_and_the_compared_prompt_can_be_read(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    kinds = ["chat", "code", "summary", "reasoning", "translation", "writing"]
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": k, "category": k, "prompt": k}) + "\n" for k in kinds))
    async with open_chat(size=(40, 24)) as chat:
        await chat.type(f"/sweep length=1 repeats=1 prompts={prompts}")
        screen = await opened(chat)
        await chat.until(lambda: screen.record is not None)
        await chat.until(lambda: all(f"  {kind}" in chat.screen for kind in kinds))
        await chat.pilot.press("escape")
        await chat.ask("hello, and then more than a line of the list has room for")
        await chat.pilot.press("f5")
        again = await opened(chat)
        await chat.until(lambda: again.record is not None)
        await chat.pilot.press("escape")
        await chat.type("/comparisons")
        await chat.until(lambda: isinstance(chat.app.screen, ComparisonsScreen))
        told = chat.app.screen.query_one("#comparison-summary", Static)
        await chat.until(lambda: "more than a line of the list has room for" in str(told.content))


@pytest.mark.parametrize(("rows", "height"), [(24, 12), (48, 19)])
async def test_a_plot_takes_half_of_a_tall_terminal(open_chat: OpenChat, rows: int, height: int) -> None:
    async with open_chat(size=(80, rows)) as chat:
        await chat.ask("hello")
        await chat.type("/sweep length=0-2 repeats=1")
        screen = await opened(chat)
        await chat.until(lambda: bool(screen.query(LengthPlot)))
        await chat.until(lambda: screen.query_one(LengthPlot).size.height >= height)


def test_the_ticks_of_the_plot_are_round_numbers_evenly_apart() -> None:
    assert ticks(318) == [0, 100, 200, 300]
    assert ticks(41) == [0, 20, 40]
    assert ticks(2000) == [0, 500, 1000, 1500, 2000]
    for highest in (0.7, 3.0, 12.5, 99, 1234):
        assert 2 <= len(ticks(highest)) <= TICKS + 1
