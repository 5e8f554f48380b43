"""Comparisons of several settings or prompts: their figures, their list, their texts one by one."""

import gc
import json
from dataclasses import replace
from pathlib import Path
from weakref import WeakSet

import pytest
from textual.app import App
from textual.widgets import ContentSwitcher, OptionList, Static

from app.compare import store
from app.compare.plots import Series
from app.compare.record import Outcome
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.widgets.comparison_figures import ComparisonFigures, FittedTable
from app.tui.widgets.comparison_view import ComparePane
from app.tui.widgets.length_plot import LOOKS, TICKS, LengthPlot, ticks
from tests.app.compare.test_tables import one_token_at_first
from tests.app.tui.chat_driver import OpenChat, keys_shown
from tests.app.tui.test_compare import compared


@pytest.mark.drawn
async def test_a_sweep_is_plotted_kept_listed_shown_again_exported_and_deleted(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    exports = tmp_path_factory.mktemp("exports")
    monkeypatch.setattr("app.settings.config.user_downloads_path", lambda: exports)
    async with open_chat(size=(80, 48)) as chat:
        await chat.ask("hello, and then more than a line of the list has room for" + " word" * 9)
        screen, record = await compared(chat, "/sweep length=auto,0-2 drafter=model,lookup repeats=1")
        labels = [setting.label for setting in record.settings]
        lengths = ("length auto", "1 token", "2 tokens")
        assert labels == ["plain", *(f"{name}, {n}" for name in ("model", "lookup") for n in lengths)]
        await chat.until(lambda: bool(screen.query(LengthPlot)))
        assert [line.lengths for line in screen.query_one(LengthPlot).lines] == [(0, 1, 2), (0, 1, 2)]
        assert screen.query_one(ContentSwitcher).current == "figures"
        legend = str(screen.query_one(ComparisonFigures).query(Static).first().content)
        assert legend == "● model   ◆ lookup   ╌╌ length auto"
        await chat.until(lambda: screen.query_one(LengthPlot).size.height >= 19)
        await chat.pilot.resize_terminal(80, 24)
        await chat.until(lambda: 12 <= screen.query_one(LengthPlot).size.height < 19)
        await chat.press("escape")
        for name in ("0", "9"):  # the one after it in the list, and the one before
            store.keep(replace(record, name=name, broken_off="left" if name == "9" else ""))
        await chat.reached(ComparisonsScreen, by="/comparisons")
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: rows.option_count == 3)
        assert len({str(row.prompt).index("scripted") for row in rows.options}) == 1, "one column"
        await chat.press("down")
        summary = chat.app.screen.query_one("#comparison-summary", Static)
        await chat.until(lambda: str(summary.content).count(" word") == 9)
        chat.press_at_once("enter", "enter")  # shown once, as Esc below checks
        again = await chat.reached(CompareScreen)
        await chat.until(lambda: bool(again.query(LengthPlot)))
        await chat.until(lambda: again.query_one(FittedTable).size.height == 1 + len(labels))
        await chat.until(lambda: len(list(exports.iterdir())) == 3, by="e")
        assert {file.suffix for file in exports.iterdir()} == {".json", ".csv", ".png"}
        names = [f"comparison-{record.name}{suffix}" for suffix in (".json", ".csv", ".png")]
        written = f"Written: {', '.join(names)} in {exports}"
        await chat.until(lambda: any(note.message == written for note in chat.app._notifications))
        (file,) = exports.glob("*.json")
        assert {"versions", "device", "pair", "options", "verdicts"} <= set(json.loads(file.read_text()))
        await chat.press("v")
        assert again.query_one("#drafted", ComparePane).border_title == "Drafted: model, length auto"
        await chat.press("down")
        assert again.query_one("#drafted", ComparePane).border_title == "Drafted: model, 1 token"
        assert store.last_speeds()["scripted"].startswith(f"{record.speed(0):.0f} tok/s plain, ")
        await chat.until(lambda: len(store.kept().records) == 2, by=("escape", "d", "y"))
        await chat.until(lambda: rows.option_count == 2)
        assert rows.highlighted == 1, "deleting goes on where it was"
        await chat.press("d", "y", "d", "y")
        await chat.until(lambda: store.kept().records == () and "Esc Back" in keys_shown(chat))
        await chat.until(lambda: "Delete" not in keys_shown(chat))
        assert store.last_speeds() == {}


async def test_the_texts_of_a_sweep_begin_with_the_setting_of_the_verdict_above_them(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(80, 24), asked="hello") as chat:
        _, record = await compared(chat, "/sweep length=1-2 repeats=1")
        one, two = (record.outcome(0, place) for place in record.drafting)

        def slowed(outcome: Outcome, times: int) -> Outcome:
            runs = [replace(run, tokens_per_second=run.tokens_per_second / times) for run in outcome.runs]
            return replace(outcome, runs=tuple(runs))

        for slow, other, words in (
            (slowed(one, 2), two, "auto, 2 tokens: 2.00x faster"),
            (slowed(one, 8), slowed(two, 4), "auto, 2 tokens: 0.50x: slower"),
        ):
            plain = record.outcome(0, 0)
            await chat.push(CompareScreen(record=replace(record, outcomes=(plain, slow, other))))
            await chat.shows(words)
            await chat.shows("Drafted: auto, 2 tokens", by="v")


async def test_figures_that_are_laid_out_late_still_offer_the_key_that_scrolls_them(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(120, 40), asked="hello") as chat:
        screen, _ = await compared(chat, "/sweep length=1-2 repeats=1")
        await chat.until(lambda: bool(screen.query("LengthPlot Grid")) and "Sweep" in keys_shown(chat))
        await chat.pilot.pause()
        assert "PgDn" not in keys_shown(chat)
        await screen.query_one(ComparisonFigures).mount(Static("a line\n" * 99))
        await chat.until(lambda: "PgDn Scroll" in keys_shown(chat))


@pytest.mark.drawn
async def test_a_plot_is_never_drawn_without_its_lines(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, render = list[int](), LengthPlot.render

    def seen(plot: LengthPlot) -> object:
        drawn.append(len(plot._datasets))
        return render(plot)

    monkeypatch.setattr(LengthPlot, "render", seen)
    async with open_chat(size=(80, 48), asked="hello") as chat:
        await compared(chat, "/sweep length=0-2 repeats=1")
        await chat.shows("draft length (0: plain)")
        assert all(drawn)


async def test_a_plot_whose_parts_are_removed_as_its_screen_is_left_is_not_drawn() -> None:
    plot = LengthPlot([Series("model", (0, 1), (1.0, 2.0), (1.0, 2.0), (1.0, 2.0))], {})
    app = App[None]()
    async with app.run_test() as pilot:
        await app.mount(plot)
        await pilot.pause()
        await plot.remove_children()
        app.theme = "nord"
        await pilot.pause()


async def test_in_40_columns_each_category_and_text_is_reached(open_chat: OpenChat, tmp_path: Path) -> None:
    kinds = ["chat", "code", "summary", "reasoning", "translation", "writing"]
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"id": k, "category": k, "prompt": k}) + "\n" for k in kinds))
    async with open_chat(size=(40, 24)) as chat:
        screen, record = await compared(chat, f"/sweep length=1 repeats=1 prompts={prompts}")
        await chat.until(lambda: all(f"  {kind}" in chat.screen for kind in kinds))
        title = screen.query_one("#compare-prompt", Static)
        await chat.until(lambda: str(title.content).endswith("6 prompts together"))
        await chat.until(lambda: str(title.content).endswith("1/6 (Left, Right) chat"), by="v")
        await chat.until(lambda: str(title.content).endswith("2/6 (Left, Right) code"), by="right")


async def test_a_sweep_with_a_drafter_that_the_pair_lacks_is_refused_before_it_runs(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="hello") as chat:
        await chat.noticed("scripted has no drafter eagle", by="/sweep drafter=model,eagle length=1")
        assert chat.app.screen is chat.app.chat


def test_two_lines_of_a_plot_differ_in_colour_or_marker() -> None:
    """Six drafters at two temperatures are twelve lines."""
    assert len(set(LOOKS)) == len(LOOKS) >= 12


def test_the_ticks_of_the_plot_are_round_numbers_evenly_apart() -> None:
    assert ticks(318) == [0, 100, 200, 300]
    assert ticks(41) == [0, 20, 40]
    assert ticks(2000) == [0, 500, 1000, 1500, 2000]
    for highest in (0.7, 3.0, 12.5, 99, 1234):
        assert 2 <= len(ticks(highest)) <= TICKS + 1


async def test_a_setting_that_was_not_timed_is_not_shown_as_the_best(open_chat: OpenChat) -> None:
    store.keep(record := one_token_at_first())
    assert [record.settings[place].label for place in record.by_ratio()] == ["model, 3 tokens at 0.8"]
    async with open_chat() as chat:
        await chat.reached(ComparisonsScreen, by="/comparisons")
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: rows.option_count == 1)
        assert "0.50x" in str(rows.get_option_at_index(0).prompt)
        screen = await chat.reached(CompareScreen, by="enter")
        await chat.until(lambda: screen.query_one("#drafted", ComparePane).border_title != "Drafted")
        assert screen.query_one("#drafted", ComparePane).border_title == "Drafted: model, 3 tokens at 0.8"


async def test_a_closed_plot_does_not_stay_in_memory(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        drawn = WeakSet[LengthPlot]()
        for _ in range(3):
            plot = LengthPlot([Series("model", (0, 1), *[(1.0, 2.0)] * 3)], {})
            drawn.add(plot)
            await chat.app.chat.mount(plot)
            await plot.remove()
        # The last one is held here, and by Textual as a child that it displayed last.
        await chat.until(lambda: gc.collect() >= 0 and len(drawn) == 1)
