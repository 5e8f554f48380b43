"""The gauges: the figures of one answer, and those that fit on a narrow line."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from app.chat.answer_log import AnswerLog
from app.engine.events import DraftRound, Piece, TextAdded
from app.shell.number_text import bars, rate_text
from app.tui.widgets.answer import broken
from app.tui.widgets.figures import gauge_items, stats_line
from app.tui.widgets.item_line import SEPARATOR, ItemLine, LineItem, fitting
from mlx_spec.stats import Stats, acceptance_by_position, summarise
from tests.app.history.some_chat import answer
from tests.app.tui.chat_driver import OpenChat, keys_shown


def log_of(accepted: list[int], *, length: int = 3, seconds: float = 0.1, timed: bool = False) -> AnswerLog:
    log, tokens = AnswerLog("a pair"), 0
    for number, count in enumerate(accepted, 1):
        tokens += count + 1
        drafting = seconds / 4 if timed else None
        played = DraftRound("model", ("x",) * length, count, "y", seconds, drafting, 0, 1)
        log.take(
            TextAdded(
                (Piece("x", "plain"),), tokens, number * seconds, tokens / (number * seconds),
                1_234_000_000, (played,),
            )
        )  # fmt: skip
    return log


def line(log: AnswerLog, width: int) -> str:
    return SEPARATOR.join(item.text for item in fitting(list(gauge_items(log)), width))


def test_a_wide_line_has_every_gauge_and_a_narrow_one_those_that_matter_most() -> None:
    log = log_of([3, 1, 0, 2] * 10, timed=True)
    wide = line(log, 200)
    assert "26 tok/s" not in wide and "25 tok/s" in wide
    for part in ("accepted 1.5/3.0 per round", "model drafts 3", "draft 25% verify 75%", "1.2 GB"):
        assert part in wide
    narrow = line(log, 76)
    assert cell_len(narrow) <= 76
    for part in ("25 tok/s", "1.5/3.0", "model 3", "draft 25% verify 75%", "1.2 GB"):
        assert part in narrow, part
    left = line(log, 38)
    assert cell_len(left) <= 38
    assert "25 tok/s" in left and "1.5/3.0" in left


def test_a_setting_is_named_where_the_pair_that_was_left_out_made_room_for_it() -> None:
    items = [
        LineItem("● a pair", 9),
        LineItem("context 9%", 10),
        LineItem("max-tokens 300", 10, short="1 own"),
    ]
    shown = {width: SEPARATOR.join(item.text for item in fitting(items, width)) for width in range(18, 39)}
    assert shown[38] == "● a pair · context 9% · max-tokens 300"
    assert shown[37] == shown[29] == "● a pair · context 9% · 1 own"
    assert shown[28] == shown[27] == "context 9% · max-tokens 300"
    assert shown[26] == shown[18] == "context 9% · 1 own"


def test_a_speed_and_shares_that_were_not_measured_are_not_shown() -> None:
    assert log_of([1]).draft_share is None
    assert "draft 25% verify 75%" in line(log_of([1], timed=True), 80)
    assert "verify" not in line(log_of([1]), 80)
    for rounds, shown in ((4, "… tok/s"), (5, "20 tok/s")):
        assert shown in line(log_of([1] * rounds), 80)


def test_a_continued_answers_rounds_are_counted_together_and_its_speed_is_that_of_the_line_below_it() -> None:
    log = AnswerLog("a pair", answer("a", "p"))
    log.take(TextAdded((), 3, 0.5, 6.0, 1_234, (DraftRound("model", ("x",) * 2, 2, "y", 0.5, None, 0, 1),)))
    assert "accepted 1.5/2.0 per round" in line(log, 200)
    for seconds in (0.1, 0.4):
        log.rounds.append(DraftRound("model", (), 0, "y", seconds, None, 0, 1))
    assert rate_text(log.stats(summarise(())).tokens_per_second) == "4.0"
    assert "4.0 tok/s" in line(log, 200)


def test_a_tree_that_is_accepted_as_deep_as_it_goes_was_rejected_nowhere() -> None:
    tree = DraftRound("eagle", ("x",) * 7, 2, "y", 0.1, None, 0, 1, tree_depth=2)
    log, added = AnswerLog("a pair"), TextAdded((), 3, 0.1, 30.0, 1_234, (tree,))
    log.take(added)
    assert acceptance_by_position(log.rounds) == (1, 1)
    assert log.stats(summarise(())).acceptance_by_position == (1, 1)


def test_acceptance_counts_positions_that_were_reached_and_the_share_is_the_latest_drafters() -> None:
    log = log_of([3, 1, 0, 2], timed=True)
    assert acceptance_by_position(log.rounds) == pytest.approx((3 / 4, 2 / 3, 1 / 2))
    assert bars(acceptance_by_position(log.rounds), 1) == "▆▆▅"
    assert log.latest is not None
    for drafter, seconds, share in (("lookup", 0.0, 0), ("model", None, 0.25)):
        log.take(replace(log.latest, played=(DraftRound(drafter, ("x",), 1, "y", 0.1, seconds, 0, 1),)))
        assert log.draft_share == pytest.approx(share)


def all_of(figure: int) -> Stats:
    """An answer whose figures all have as many digits as this one."""
    return replace(
        summarise(()), tokens=figure, tokens_per_second=float(figure), draft_n=figure,
        draft_n_accepted=figure, accepted_per_round=25.99, time_to_first_token=figure / 1000,
    )  # fmt: skip


@pytest.mark.parametrize("figure", [1, 999, 1000, 9999])
def test_the_line_under_an_answer_fits_eighty_columns_whatever_its_figures(figure: int) -> None:
    assert cell_len(stats_line(all_of(figure), "stop", 1024)) <= 75


def test_a_longer_line_is_broken_between_its_parts() -> None:
    line = stats_line(all_of(9999), "length", 9999)
    assert broken(line, 75) == [line.rpartition(SEPARATOR)[0], "cut at the length limit (/max-tokens)"]
    assert broken(line, 36)[:2] == ["9999 tokens, 9999/s", "accepted 9999/9999, 25.99/round"]
    assert broken("a long part · b", 4) == ["a long part", "b"]


async def test_the_gauges_are_those_of_the_branch_in_view(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 24), asked="hello") as chat:
        gauges = chat.app.chat.query_one("#gauges", ItemLine)
        await chat.until(lambda: "accepted 1.0/1.0" in str(gauges.content))
        await chat.type("/draft off")
        await chat.until(lambda: "no draft" in str(gauges.content), by=("tab", "r"))
        await chat.settled()
        await chat.until(lambda: "accepted 1.0/1.0" in str(gauges.content), by="left")
        await chat.until(lambda: "no draft" in str(gauges.content), by="right")
        await chat.press("escape")
        await chat.type("read")
        await chat.shows("reading 6/6")
        await chat.until(lambda: chat.app.state.running is None and not gauges.items, by="escape")


async def test_the_gauges_follow_the_answer_and_say_if_it_has_no_token_or_round(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 24)) as chat:
        await chat.type("slow")
        gauges = chat.app.chat.query_one("#gauges", ItemLine)
        await chat.until(lambda: "1.0/1.0" in str(gauges.content))
        assert chat.app.chat.query_one("Transcript").size.height >= 12
        await chat.answered(1, by="escape")
        assert chat.answers[0].text == next(iter(chat.app.state.logs.values())).text
        assert ", 1.00/round" in chat.answers[0].stats
        lines = broken(chat.answers[0].stats, 38)
        assert len(lines) > 1
        await chat.until(lambda: all(line in chat.screen for line in lines))
        await chat.until(lambda: str(gauges.content) == "", by="/clear")
        assert not chat.app.state.logs
        await chat.pilot.resize_terminal(100, 30)
        await chat.type("read")
        await chat.shows("reading 6/6")
        await chat.until(lambda: "F8 Rounds" in keys_shown(chat))
        await chat.shows("stopped by you before the first token", by="escape")
        assert "first token 0" not in chat.screen and "context 10/4096" in chat.screen
        await chat.until(lambda: "F5 Compare" in keys_shown(chat) and "F8 Rounds" not in keys_shown(chat))
        await chat.noticed("no rounds", by="f8")
        await chat.type("/new")
        await chat.shows("stopped by you before the first token", "context ~1/4096", by="f7")


async def test_the_rounds_of_an_answer_that_does_not_change_are_not_counted_again(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(asked="hello") as chat:
        below, counted = chat.app.chat.below, list[AnswerLog]()
        below.show()
        monkeypatch.setattr(
            "app.tui.widgets.below.gauge_items", lambda log: (counted.append(log), gauge_items(log))[1]
        )
        below.show()
        assert counted == []
        await chat.ask("hello")
        assert counted[-1] is [*chat.app.state.logs.values()][-1] and counted[-1].over


async def test_a_long_prompt_is_said_to_be_read_before_its_first_piece_has_been(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        await chat.type("long to read")
        await chat.shows("context 10/4096 (0%)", "reading")
        assert "reading 6/6" not in chat.screen
        await chat.settled(by="escape")
        assert "reading" not in str(chat.app.chat.query_one("#status", ItemLine).content)


async def test_forty_columns_name_an_own_setting_that_is_shorter_than_its_count_and_drafting_that_is_off(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(40, 12)) as chat:
        await chat.shows("● scripted · context 0% · temp 1.2", by="/temperature 1.2")
        await chat.shows("drafting off · context 0% · temp 1.2", by="f4")
        await chat.shows("drafting off · temp 1.2 · instructions", by="/system Be brief.")
        await chat.shows("drafting off · 3 own settings", by="/max-tokens 300")
        await chat.shows("(0%) · 3 own settings", by="f4")
        chat.app.link.state = "dead"
        await chat.shows("✗ engine stopped · ")
