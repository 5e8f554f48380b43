"""The pairs screen with the real catalogue, and the commands for the same actions."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input, OptionList, Static

from app.chat.pair_facts import Facts, details, matches
from app.chat.pull_queue import PullJob
from app.commands.train import KINDS
from app.tui.keys.in_force import Keys
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from app.tui.widgets.download_list import download_line
from app.tui.widgets.pair_rows import about, header, memory_bar, row, state
from models.hub.removal import Removal
from models.pairs.catalogue import all_pairs, find
from models.pairs.installed import installed
from models.speed.chips import find_chip
from models.speed.fit import Fit
from models.speed.fitting_drafters import fitting_drafters
from models.speed.machine import Machine
from models.speed.roofline import expect
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.conftest import FIRST, SECOND
from tests.app.tui.pairs_driver import answer, open_pairs, rows, text_of
from tests.models.hub_server import HubServer
from tests.models.tiny_models import make_pair

pytestmark = pytest.mark.usefixtures("own_hub_cache")


async def test_the_list_shows_what_is_installed_and_fits_at_any_size(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        screen = await open_pairs(chat, FIRST)
        assert "installed" in rows(screen)["builtin"] and "%" in rows(screen)["builtin"]
        assert "?" in rows(screen)[FIRST] and "installed" not in rows(screen)[FIRST]
        shown = text_of(chat, "#pair-details Static")
        assert "Not verified" in shown and "of memory" in shown and "Not measured here" in shown
        chat.press_at_once("slash", *"qwen3", "space", *"8b", "enter")
        await chat.until(lambda: list(rows(screen)) == ["qwen3-8b"])
        await chat.until(lambda: len(rows(screen)) == len(all_pairs()), by="escape")
        assert chat.app.screen is screen and not screen.query_one(Input).display
        screen.show_list(FIRST)
        for size in ((80, 24), (40, 20)):
            await chat.pilot.resize_terminal(*size)
            await chat.until(lambda size=size: screen.size == size)
            await chat.pilot.pause()
            assert all(w.region.right <= size[0] for w in screen.query("PairsScreen > *") if w.display)
            assert screen.query_one(OptionList).size.height >= 3
            assert screen.query_one("#message").region.bottom <= size[1]
            assert screen.query_one("#message").content_size.height <= 2, "rows are for the pairs"
        about = screen.query_one("#pair-details")
        await chat.until(lambda: "More" in chat.screen and about.max_scroll_y > 0)
        assert "Not verified" not in chat.screen
        for _ in range(9):
            if about.scroll_y < about.max_scroll_y:
                await chat.press("space")
        await chat.shows("verified:")
        await chat.until(lambda: about.scroll_y == 0, by="space")
        await chat.back_in_chat(by="escape")


async def test_what_is_here_comes_first_with_its_drafters_and_keys_in_one_read_ask_once(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Removal(find(FIRST).spec.sources, {}, 5_000_000)
    monkeypatch.setattr("app.chat.pair_removal.plan_removal", lambda spec: plan)
    async with open_chat(size=(100, 24), pair="builtin") as chat:
        chat.app.push_screen(screen := PairsScreen())
        assert not screen.applies("remove") and screen.applies("choose"), "asked before the list is there"
        await chat.reached(PairsScreen)
        await chat.press("escape")
        screen = await open_pairs(chat, "builtin")
        options = screen.query_one(OptionList)
        assert str(options.get_option_at_index(0).prompt) == "On this machine"
        assert next(iter(rows(screen))) == "builtin" and "in use" in rows(screen)["builtin"]
        fits = [screen.facts[str(name)].fit for name in [*rows(screen)][1:]]
        verdicts = [fit.verdict for fit in fits if fit is not None]
        assert verdicts == sorted(verdicts, key=["fits", "tight", "does not fit"].index)
        assert options.border_subtitle == "? not verified" and "verified" not in text_of(chat, "#message")
        screen.show_list("smollm2-135m")
        await chat.until(lambda: "eagle: ships with the program" in text_of(chat, "#pair-details Static"))
        shown = text_of(chat, "#pair-details Static")
        made = f"+ {', '.join(KINDS)} of your own: mlx-spec train smollm2-135m --kind KIND"
        assert "✓ lookup, and recycling and lookahead for a target without a draft" in shown and made in shown
        screen.show_list("qwen3-8b")
        await chat.until(lambda: "Qwen3-0.6B-4bit" in text_of(chat, "#pair-details Static"))
        assert "not here yet" in text_of(chat, "#pair-details Static")
        screen.show_list(FIRST)
        for key in ("enter", "x"):
            chat.press_at_once(key, key, key)
            await answer(chat, "n")
            await chat.pilot.pause(0.1)
            assert chat.app.screen is screen and chat.app.pulls.jobs == []
            assert key == "enter" or f"{FIRST} stays" in text_of(chat, "#message")
        chat.press_at_once("a", "a", "a")
        await chat.reached(OwnPairScreen)
        await chat.press("escape")
        await chat.pilot.pause(0.1)
        assert chat.app.screen is screen
        monkeypatch.setattr(chat.app.pulls, "add", lambda spec: None)
        await chat.press("enter")
        await answer(chat, "y")
        await chat.until(lambda: text_of(chat, "#message") == screen.hint)


async def test_the_question_before_a_download_warns_of_a_full_disk(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.speed.fit.this_machine", lambda: Machine(10**12, 0, has_metal=True))
    async with open_chat() as chat:
        await open_pairs(chat, FIRST)
        await chat.press("enter")
        await chat.reached(QuestionScreen)
        question = text_of(chat, "#question Static")
        assert "Does not fit here: it downloads" in question and "0 B of disk are free." in question


async def test_the_question_before_a_download_warns_before_the_facts_of_all_pairs_are_read(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.speed.fit.this_machine", lambda: Machine(10**9, 10**12, has_metal=True))
    monkeypatch.setattr(PairsScreen, "look_again", lambda screen: None)
    async with open_chat() as chat:
        screen = await chat.reached(PairsScreen, by="f2")
        screen.show_list(FIRST)
        await chat.press("enter")
        await chat.reached(QuestionScreen)
        assert "Does not fit here: it needs" in text_of(chat, "#question Static")


async def test_commands_pull_use_and_remove_pairs_by_name(open_chat: OpenChat, hub: HubServer) -> None:
    async with open_chat() as chat:
        await chat.noticed(f"/pull {FIRST}", by=f"/use {FIRST}")
        await chat.noticed("Did you mean smollm2-1", by="/pull smollm2")
        await chat.noticed("no pair org/name. F2, then a adds one", by="/use org/name")
        await chat.noticed("is installed", by=f"/pull {FIRST}")
        await chat.until(lambda: chat.app.link.pair.name == FIRST, by=f"/use {FIRST}")
        await chat.noticed("is in use", by=f"/remove {FIRST}")
        await chat.until(lambda: chat.app.link.pair.name == "builtin", by="/use builtin")
        for key, what in (("n", "stays"), ("y", "MB freed")):
            assert installed(find(FIRST).spec)
            await chat.reached(QuestionScreen, by=f"/remove {FIRST}")
            assert "MB are freed" in str(chat.app.screen.query(Static).first().content)
            await chat.until(lambda what=what: what in chat.notices[-1], by=key)
        assert not installed(find(FIRST).spec)
        await chat.noticed("nothing to remove", by=f"/remove {SECOND}")


def test_memory_is_a_bar_and_an_expected_speed_comes_with_its_range_and_source() -> None:
    assert str(memory_bar(Fit("fits", "", 0.5))) == "████░░░░   50%"
    assert str(memory_bar(Fit("does not fit", "", 3.0))) == "████████  300%"
    pair = find("qwen3-8b")
    facts = Facts(pair, False, 0, expected=expect(pair, find_chip("M4 Pro")))
    assert " → " in str(row(facts, "fits", width=120, predicts=True))
    assert "not measured" in details(facts) and " to " in details(facts)


def test_the_command_that_trains_a_drafter_can_be_copied_for_a_name_with_a_space() -> None:
    assert "mlx-spec train 'my own' --kind" in str(
        about(Facts(replace(find("qwen3-8b"), name="my own"), True))
    )


@pytest.mark.parametrize("width", [40, 120])
def test_a_pair_of_folders_that_are_gone_is_not_here(width: int) -> None:
    own = replace(find("qwen3-8b"), download_bytes=0, own=True)
    for there, word in ((True, " here"), (False, " gone")):
        assert word in str(row(Facts(own, there), "fits", width=width, predicts=False))


@pytest.mark.parametrize("width", [40, 120])
def test_an_installed_pair_is_called_by_the_word_that_filters(width: int) -> None:
    facts = Facts(find("qwen3-8b"), True)
    assert matches(facts, "installed")
    word = state(facts, None, in_use=False)
    assert " installed" in str(row(facts, word, width=width, predicts=False))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_wide_name_moves_no_column(width: int) -> None:
    pair = find("qwen3-8b")
    drawn = (
        row(
            Facts(replace(pair, name=name), False, 0, Fit("fits", "", 0.1)),
            "fits",
            width=width,
            predicts=False,
        )
        for name in ("some-model", "模型目录", "模型目录测试很长的名字")
    )
    assert len({cell_len(line.plain) for line in drawn}) == 1


@pytest.mark.parametrize(
    ("width", "predicts"),
    [(80, False), *((width, told) for width in (100, 120, 200) for told in (False, True))],
)
def test_no_row_is_wider_than_its_list_and_in_a_wide_one_no_word_is_cut(width: int, predicts: bool) -> None:
    for pair in all_pairs():
        drafters = tuple(fitting_drafters(pair, None))
        facts = Facts(pair, False, 0, Fit("does not fit", "", 99.0), drafters=drafters)
        drawn = row(facts, "does not fit", width=width, predicts=predicts).plain
        assert cell_len(drawn) <= width - 6 and pair.name in drawn
        assert width < 120 or predicts or pair.licence in drawn
        assert width < 200 or "…" not in drawn
        names = header(width=width, predicts=predicts)
        assert names.index("drafted") == drawn.index("does not fit") + 14
        assert "licence" not in names or names.index("licence") == drawn.index(pair.licence[:9])


def test_nothing_is_passed_on_that_a_terminal_would_obey() -> None:
    pair = replace(all_pairs()[1], good_for="\x1b[2J", licence="\x1b]0;x\x07", name="a\x9bb")
    facts = Facts(pair, False, 0, Fit("fits", "\x1b", 0.1))
    job = PullJob(replace(pair.spec, name="\x1b[31m"))
    job.state, job.error = "failed", "\x1b[2J"
    shown = str(row(facts, "fits", width=120, predicts=False)), str(about(facts))
    for text in (details(facts), *shown, download_line(job, Keys({}))):
        assert all(char.isprintable() or char == "\n" for char in text)


async def test_where_no_draft_is_known_to_fit_enter_goes_on_without_and_a_typed_name_replaces_none(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    target, _ = make_pair(tmp_path / "made")
    async with open_chat(size=(80, 24)) as chat:
        screen = await open_pairs(chat)
        assert "No fitting draft is known. Enter goes on" in await add_own(chat, str(target), "")
        draft = chat.app.screen.query_one("#own-draft", Input)
        await chat.until(lambda: draft.value == "a/b", by=(*"a/b",))
        draft.value = "none"
        await chat.until(lambda: chat.app.screen is screen, by="enter")
        assert find("target").draft is None


async def test_what_is_typed_after_tab_goes_into_the_next_field(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await open_pairs(chat)
        screen = await chat.reached(OwnPairScreen, by="a")
        chat.press_at_once(*"xy", "tab", *"ab", "shift+tab", "z")
        target, draft = screen.query_one("#own-target", Input), screen.query_one("#own-draft", Input)
        await chat.until(lambda: (target.value, draft.value) == ("xyz", "ab"))


async def add_own(chat: Chat, target: str, draft: str) -> str:
    """Add an own pair on the screen of pairs; return the final message."""
    screen = await chat.reached(OwnPairScreen, by="a")
    screen.query_one("#own-target", Input).value = target
    screen.query_one("#own-draft", Input).value = draft
    screen.query_one("#own-draft", Input).focus()
    await chat.press("enter")
    ends = ("✗", "This draft", "No fitting draft")
    await chat.until(lambda: chat.app.screen is not screen or text_of(chat, "#message").startswith(ends))
    if chat.app.screen is screen:
        return text_of(chat, "#message")
    await chat.until(lambda: not text_of(chat, "#message").startswith("Enter uses a pair or"))
    return text_of(chat, "#message")


async def test_an_own_pair_is_checked_kept_used_and_forgotten_and_what_is_none_refused_with_the_reason(
    open_chat: OpenChat, hub: HubServer, tmp_path: Path
) -> None:
    target, draft = make_pair(tmp_path / "made")
    known = find(FIRST).target.repo
    async with open_chat(size=(80, 24)) as chat:
        screen = await open_pairs(chat)
        refusal = await add_own(chat, str(draft), str(target))
        assert "is not smaller than the target" in refusal and "Swap them" in refusal
        field = chat.app.screen.query_one("#own-target", Input)
        field.focus()
        for text, reason in (("", "Name a target first"), ("foo bar", "foo bar")):
            field.value = text
            await chat.until(lambda reason=reason: reason in text_of(chat, "#message"), by="enter")
            assert field.has_focus and text_of(chat, "#message").startswith("✗")
        field.value, chat.app.screen.query_one("#own-draft", Input).value = str(target), ""
        await chat.until(lambda: "No fitting draft is known." in text_of(chat, "#message"), by="enter")
        await chat.press("escape")
        assert "This draft should fit" in await add_own(chat, known, " ")
        await chat.press("escape")
        assert f"Did you mean {known}" in await add_own(chat, known[:-1], known)
        assert {pair.own for pair in all_pairs()} == {False}
        await chat.press("escape")
        assert "belong together" in await add_own(chat, str(target), str(draft))
        pair = find("target")
        assert pair.own and pair.memory_bytes > 300_000_000 and pair.download_bytes == 0
        screen.show_list("builtin")
        assert "That is the pair target. Enter uses it" in await add_own(chat, str(target), str(draft))
        await chat.until(lambda: chat.app.link.pair == pair.spec, by="enter")
        chat.app.link.pair = find("builtin").spec
        screen = await open_pairs(chat, "target")
        await chat.press("x")
        await answer(chat, "y")
        await chat.until(lambda: "target" not in rows(screen))
        assert target.is_dir() and "target" not in {pair.name for pair in all_pairs()}
