"""The round inspector and the chat's totals."""

import os
import signal
from dataclasses import replace

import pytest
from textual.widgets import OptionList, Static

from app.chat.answer_log import AnswerLog
from app.chat.chat_totals import saving, totals
from app.engine.events import DraftRound, Piece, TextAdded
from app.tui.screens.inspector import InspectorScreen, excerpt
from app.tui.screens.totals import TotalsScreen
from app.tui.widgets.token_text import round_sentence, round_text
from tests.app.history.some_chat import answer
from tests.app.tui.chat_driver import Chat, OpenChat, keys_shown


def drafted(accepted: int, own: str = "!", seconds: float = 0.03) -> DraftRound:
    return DraftRound("model", (" a", "\n", "\x1b[2J"), accepted, own, seconds, None, 0, 4)


def plain(seconds: float) -> DraftRound:
    return DraftRound("none", (), 0, "x", seconds, None, 0, 1)


def log_of(*rounds: DraftRound) -> AnswerLog:
    log = AnswerLog("a pair")
    seconds, tokens = sum(r.seconds for r in rounds), sum(r.accepted + 1 for r in rounds)
    log.take(TextAdded((Piece("x", "plain"),), tokens, seconds, 1.0, 0, rounds))
    return log


async def inspect(chat: Chat) -> InspectorScreen:
    screen = await chat.reached(InspectorScreen, by="f8")
    await chat.until(lambda: screen.query_one(OptionList).has_focus and screen.chosen is not None)
    return screen


def test_a_round_shows_what_was_accepted_rejected_and_written_instead() -> None:
    assert round_text(drafted(1)).plain == "·a ✗↵ ✗␛[2J → !"
    sentence = round_sentence(drafted(1))
    assert "drafted 3 tokens, 1 accepted; instead of ‘↵’ the target wrote ‘!’. 30.0 ms" in sentence
    assert "all accepted; then the target wrote ‘!’" in round_sentence(drafted(3))
    assert "none accepted" in round_sentence(drafted(0))
    tree = replace(drafted(2), tree_depth=2)
    assert "drafted a tree of 3, 2 deep, 2 accepted; then the target wrote ‘!’" in round_sentence(tree)
    assert "none accepted; then the target wrote ‘!’" in round_sentence(replace(tree, accepted=0))
    assert round_sentence(plain(0.02)) == "No draft: the target wrote ‘x’. 20.0 ms."


async def test_at_forty_columns_what_is_said_of_a_round_is_whole(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12)) as chat:
        log = log_of(plain(0.02), replace(drafted(1), draft_seconds=0.01), plain(0.02))
        await chat.push(InspectorScreen(lambda: [log], log))
        whole = "the target wrote ‘!’. 30.0 ms, 10.0 of them drafting."
        await chat.until(lambda: whole in " ".join(chat.screen.split()), by="up")


@pytest.mark.parametrize("width", [10, 40, 200])
def test_the_excerpt_highlights_the_rounds_text_and_obeys_nothing(width: int) -> None:
    text = "before " * 100 + "HERE\x1b" + " after" * 100
    begin = text.index("HERE")
    shown = excerpt(text, DraftRound("model", (), 0, "", 0.1, None, begin, begin + 5), width)
    (span,) = [s for s in shown.spans if "reverse" in str(s.style)]
    assert shown.plain[span.start : span.end] == "HERE␛"
    assert span.start <= 2 * width and "\x1b" not in shown.plain


def test_above_a_round_are_as_many_lines_as_fit() -> None:
    text, played = "1\n2\n3\nHERE", DraftRound("model", (), 0, "", 0.1, None, 6, 10)
    assert excerpt(text, played, 20, 1).plain == "3\nHERE" != excerpt(text, played, 20).plain
    assert excerpt(text, played, 20, 0).plain == "HERE"


def test_an_answer_left_before_its_end_counts_the_tokens_of_its_rounds() -> None:
    left = answer("a", "p")
    assert left.facts is not None
    facts = replace(left.facts, rounds=(drafted(2), plain(0.02)), stats=None)
    log = AnswerLog("a pair", replace(left, facts=facts), over=True)
    assert (log.tokens, round(log.seconds, 3)) == (4, 0.05)


async def test_the_engine_dies_before_the_first_round_that_is_waited_for(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 24), process=True) as chat:
        await chat.type("read")
        await chat.until(lambda: "F8 Rounds" in keys_shown(chat))
        screen = await chat.reached(InspectorScreen, by="f8")
        pid = chat.app.link.client.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await chat.until(lambda: not chat.app.chat.state.logs)
        await chat.pilot.pause(0.3)
        assert chat.app.screen is screen
        await chat.back_in_chat(by="escape")


async def test_rounds_of_a_running_answer_grow_and_arrow_keys_walk_them(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 20)) as chat:
        await chat.noticed("no rounds", by="f8")
        await chat.type("slow")
        await chat.type("hello")  # waiting for its turn
        await chat.until(lambda: any(len(log.rounds) > 2 for log in chat.app.state.logs.values()))
        screen = await inspect(chat)
        rows = screen.query_one(OptionList)
        await chat.until(lambda: rows.option_count > 4 and rows.highlighted == rows.option_count - 1)
        await chat.until(lambda: rows.highlighted == 1, by=("home", "down"))
        assert screen.chosen is screen.answer.rounds[1]
        count = rows.option_count
        await chat.until(lambda: rows.option_count > count)
        assert rows.highlighted == 1
        shown = screen.query_one("#rounds-text", Static)
        await chat.until(lambda: " what the draft guessed" in str(shown.content))
        chat.app.chat.action_stop()
        title = screen.query_one("#rounds-title", Static)
        await chat.until(lambda: "Answer 1 of 2" in str(title.content))
        await chat.press("right")
        await chat.until(lambda: "Answer 2 of 2 · " in str(title.content) and screen.chosen is not None)
        log = log_of(*[drafted(1)] * 40)
        await chat.push(InspectorScreen(lambda: [log], log))
        # The newest one is in sight below a sentence of two lines.
        await chat.shows("Round 40: model drafted", "\n   40 ")
        await chat.press("down")
        assert "Round 40: model drafted" in chat.screen, "it is followed, Down does not begin anew"


async def test_earlier_rounds_are_kept_and_counted_their_tokens_in_one_column(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 20)) as chat:
        await chat.type("/system In Latin.")
        await chat.ask("hello")
        await chat.type("/draft off")
        await chat.ask("again")
        screen = await inspect(chat)
        assert "Answer 2 of 2" in str(screen.query_one("#rounds-title", Static).content)
        assert screen.chosen is not None and not screen.chosen.drafted
        await chat.until(lambda: screen.place == 0, by="left")
        await chat.press("up")
        await chat.until(lambda: screen.chosen is not None and screen.chosen.drafted == (" what the draft",))
        assert all(widget.size.width <= 40 for widget in screen.query("*"))
        await chat.press("escape")
        await chat.reached(TotalsScreen, by="/stats")
        await chat.shows("3 of 3 (100%)", "In Latin.")
        long = replace(drafted(0), drafted=(" a",) * 13)
        logs = [log_of(plain(0.02), drafted(0), long)]
        await chat.push(InspectorScreen(lambda: logs, logs[0]))
        await chat.shows("0/13  ✗·a", "0/3   ✗·a", "      x")


async def test_the_rounds_shown_first_are_those_of_the_branch_in_view(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("/temperature 0.5")
        await chat.ask("hello")
        await chat.shows("‹2/2›", by=("tab", "r"))
        await chat.settled()
        await chat.shows("‹1/2›", by="left")
        screen = await inspect(chat)
        assert "Answer 1 of 2" in str(screen.query_one("#rounds-title", Static).content)


def test_time_saved_is_said_only_against_plain_rounds_of_the_same_chat() -> None:
    drafting, twenty = log_of(*[drafted(3)] * 10), log_of(*[plain(0.02)] * 20)
    assert saving([drafting]) == (0, None)
    alone = dict(totals([drafting], "F4"))
    assert alone["Accepted"] == "30 of 30 (100%)" and "not known" in alone["Time saved"]
    both = [drafting, log_of(plain(9.0), *[plain(0.02)] * 20)]
    assert saving(both) == (20, pytest.approx(10 * 4 * 0.02 - 10 * 0.03))
    assert dict(totals(both, "F4"))["Time saved"].startswith("0.5 s against the median of 20 plain rounds")
    slow = [log_of(*[drafted(0, seconds=0.05)] * 10), twenty]
    assert "lost" in dict(totals(slow, "F4"))["Time saved"]
    assert saving([twenty]) == (0, None), "nothing was drafted"
    other = log_of(*[drafted(3)] * 10, *[plain(0.2)] * 4)
    other.pair = "another pair"
    assert saving([*both, other]) == (3, None), "its drafted rounds have nothing to be compared with"
    assert (
        "16 plain rounds of each pair are needed, 3 were" in dict(totals([*both, other], "F4"))["Time saved"]
    )
    other.take(TextAdded((), 0, 0.0, 0.0, 0, (plain(0.2),) * 20))
    assert saving([*both, other]) == (43, pytest.approx(10 * 4 * (0.02 + 0.2) - 20 * 0.03))
    assert saving([log_of(*[drafted(3), plain(0.02)] * 20)]) == (0, None), "a round after a draft is slower"
