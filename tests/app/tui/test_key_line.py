"""The last line of a screen shows whole keys, and the important ones at any width."""

from pathlib import Path

import pytest

from app.chat.pull_queue import PullJob
from app.tui.screens.compare import CompareScreen
from app.tui.screens.help import HelpScreen, described_keys
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.key_line import KeyLine
from models.pairs.catalogue import find
from models.pairs.installed import repository_folder
from tests.app.tui.chat_driver import OpenChat, keys_shown
from tests.app.tui.pairs_driver import open_pairs


async def test_the_chats_keys_fit_and_stop_is_there_when_it_can_stop(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        empty = "F4 Draft F6 Chats F1 Help F2 Pairs ^Q Quit ^P Commands"
        idle = "F4 Draft F5 Compare F6 Chats F3 Marks F8 Rounds F1 Help F2 Pairs ^Q Quit"
        await chat.until(lambda: keys_shown(chat) == empty)
        in_chat = described_keys(chat.app)["In the chat"]
        assert any(keys == "Esc" and "Stop" in what for keys, what in in_chat)
        await chat.stream("hold")
        for columns, expected in (
            (30, "F4 Draft Esc Stop F1 Help"),
            (40, "F4 Draft F6 Chats Esc Stop F1 Help"),
            (80, "F4 Draft F6 Chats F3 Marks F8 Rounds Esc Stop F1 Help F2 Pairs ^Q Quit"),
        ):
            await chat.pilot.resize_terminal(columns, 24)
            await chat.until(lambda expected=expected: keys_shown(chat) == expected)
        await chat.until(lambda: bool(chat.answers) and keys_shown(chat) == idle, by="escape")
        await chat.reached(HelpScreen, by="f1")
        line = chat.app.chat.query_one(KeyLine)
        line.keys = []
        chat.app.chat.refresh_bindings()
        await chat.until(lambda: bool(line.keys))
        assert any("F4" in text.plain for text, _ in line.keys), "the chat's keys, not those of the help"
        await chat.back_in_chat(by="escape")
        await chat.until(lambda: "Esc Leave edit" in keys_shown(chat), by="/edit")
        assert "Stop" not in keys_shown(chat)
        await chat.until(lambda: keys_shown(chat) == idle, by="escape")
        await chat.pilot.resize_terminal(40, 24)
        await chat.until(lambda: "F1 Help" in keys_shown(chat))
        await chat.pilot.pause()
        drawn = "".join(segment.text for segment in line.render_line(0))
        await chat.pilot.hover(line, (drawn.index("Draft"), 0))
        assert line.tooltip == "Switch drafting on or off for the next answer"
        await chat.pilot.click(line, (drawn.index("Help"), 0))
        await chat.reached(HelpScreen)


async def test_the_keys_for_a_chat_are_offered_as_soon_as_one_is_resumed(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24), asked="hello") as chat:
        await chat.until(lambda: "F5 Compare" in keys_shown(chat))
        await chat.until(lambda: bool(keys_shown(chat)) and "F5 Compare" not in keys_shown(chat), by="ctrl+n")
        await chat.until(lambda: "F5 Compare F6 Chats F3 Marks F8 Rounds" in keys_shown(chat), by="f7")


async def test_of_the_keys_for_messages_those_are_offered_that_do_something(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24), asked="think") as chat:
        await chat.press("tab")
        await chat.until(lambda: keys_shown(chat).startswith("e Edit r Again y Copy b Code Esc Back"))
        await chat.press("tab")
        await chat.until(lambda: "F5 Compare" in keys_shown(chat) and "e Edit" not in keys_shown(chat))
        await chat.press("tab")
        await chat.noticed("This answer is complete.", by="c")
        await chat.until(lambda: "← branch" in keys_shown(chat), by="r")
        assert "→" not in keys_shown(chat)
        await chat.until(lambda: "→ branch" in keys_shown(chat), by=("up", "down", "left"))
        assert "←" not in keys_shown(chat)
        await chat.press("escape")
        await chat.ask("full")
        await chat.press("tab")
        await chat.until(lambda: keys_shown(chat).startswith("e Edit r Again c Continue y Copy Esc"))
        await chat.until(lambda: "Continue" in keys_shown(chat), by="up")
        await chat.pilot.resize_terminal(127, 24)  # wider than the conversation
        await chat.until(lambda: keys_shown(chat).endswith("F2 Pairs ^Q Quit ^P Commands"))
        assert chat.app.chat.query_one(KeyLine).size.width == 127


async def test_escape_is_called_stop_while_it_stops_something_and_back_when_it_goes_back(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(120, 24)) as chat:
        await chat.type("hold")
        await chat.press("tab")
        await chat.until(lambda: keys_shown(chat).startswith("y Copy") and "Esc Stop F1" in keys_shown(chat))
        await chat.until(
            lambda: "Esc Back F4" in keys_shown(chat) and "Stop" not in keys_shown(chat), by="escape"
        )
        await chat.settled(by="escape")
        await chat.reached(CompareScreen, by="/sweep length=1-2")
        await chat.until(lambda: keys_shown(chat).startswith("Esc Stop F1"))
        await chat.until(lambda: keys_shown(chat).startswith("Esc Back F5 Again"), by="escape")
        await chat.back_in_chat(by="escape")


async def test_a_key_that_scrolls_is_offered_where_something_is_out_of_view(open_chat: OpenChat) -> None:
    async with open_chat(size=(200, 60), asked="echo " + "word " * 200) as chat:
        await open_pairs(chat)
        await chat.until(lambda: keys_shown(chat).startswith("/ Filter"))
        await chat.pilot.resize_terminal(120, 16)
        await chat.until(lambda: keys_shown(chat).startswith("Space More"))
        await chat.back_in_chat(by="escape")
        await chat.until(lambda: "Sweep" in keys_shown(chat) and "PgDn Scroll" in keys_shown(chat), by="f5")
        await chat.pilot.resize_terminal(200, 60)
        await chat.until(lambda: "Sweep" in keys_shown(chat) and "PgDn" not in keys_shown(chat))
        await chat.pilot.resize_terminal(45, 12)  # `v Texts/figures` does not fit, shorter ones do
        await chat.until(lambda: keys_shown(chat) == "Esc Back PgDn Scroll F5 Again s Sweep F1 Help")


@pytest.mark.usefixtures("own_hub_cache")
async def test_pairs_offer_cancel_resume_remove_for_what_is_there_and_not_pairs(open_chat: OpenChat) -> None:
    def offered() -> set[str]:
        return {"Cancel", "Resume", "Remove"} & set(keys_shown(chat).split())

    async with open_chat(size=(120, 24), pair="builtin") as chat:
        await chat.until(lambda: "F2 Pairs" in keys_shown(chat))
        screen = await open_pairs(chat)
        await chat.until(lambda: "Own pair" in keys_shown(chat) and not offered())
        assert "F2" not in keys_shown(chat)
        job = PullJob(find("qwen3-8b").spec, "paused")
        chat.app.pulls.jobs.append(job)
        await chat.until(lambda: offered() == {"Cancel", "Resume"})
        job.state = "cancelled"
        await chat.until(lambda: offered() == {"Resume"})
        chat.app.pulls.jobs.clear()
        repository, commit = repository_folder(job.pair.target.repo), "a" * 40
        for file, text in {"refs/main": commit, f"snapshots/{commit}/config.json": "{}"}.items():
            (repository / file).parent.mkdir(parents=True)
            (repository / file).write_text(text)  # a pull was cut off here
        screen.look_again()
        screen.show_list("qwen3-8b")
        await chat.until(lambda: offered() == {"Remove"})


async def test_lists_name_keys_for_what_they_hold_or_pass_on_and_the_way_back(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 40)) as chat:
        await chat.reached(SessionsScreen, by="f6")
        await chat.shows("No chats.")
        nothing = "/ Search v Archived Esc Back F1 Help F2 Pairs ^Q Quit ^P Commands"
        await chat.until(lambda: keys_shown(chat) == nothing)
        await chat.press("escape")
        await chat.ask("hello")
        await chat.reached(InspectorScreen, by="f8")
        await chat.until(lambda: keys_shown(chat).startswith("Esc Back F1"))
        await chat.press("escape")
        await chat.ask("again")
        await chat.reached(InspectorScreen, by="f8")
        await chat.until(lambda: keys_shown(chat).startswith("Esc Back ← Earlier F1"))
        await chat.until(lambda: keys_shown(chat).startswith("Esc Back → Later F1"), by="left")
        assert ("Left", "The answer before") in described_keys(chat.app)["Here"]
        await chat.reached(SessionsScreen, by=("escape", "f6"))
        await chat.until(lambda: "r Rename a Archive d Delete e Export" in keys_shown(chat))
        assert "Enter" not in keys_shown(chat)
        assert ("Enter", "Go on with the chat") in described_keys(chat.app)["Here"]
        await chat.until(lambda: keys_shown(chat) == nothing.replace("/ Search", "/ Search u Undo"), by="d")
        await chat.pilot.resize_terminal(40, 24)
        await chat.until(lambda: {"Esc", "Back", "F1", "Help"} <= set(keys_shown(chat).split()))


async def test_another_key_that_stops_leaves_an_edit_too(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[keys]\nchat.stop = 'f12'\n")
    async with open_chat(asked="hello") as chat:
        await chat.shows("editing: F12 leaves it as it was", "F12 Leave edit", by="/edit")
        await chat.until(lambda: chat.app.state.editing is None, by="f12")
        await chat.type("hold")
        await chat.until(lambda: "F12 Stop" in keys_shown(chat))
        await chat.settled(by="f12")


async def test_in_the_archive_the_keys_that_lead_into_it_lead_out_and_say_so(open_chat: OpenChat) -> None:
    async with open_chat(size=(120, 24), asked="hello") as chat:
        await chat.reached(SessionsScreen, by="f6")
        await chat.until(lambda: "a Archive" in keys_shown(chat) and "v Archived" in keys_shown(chat))
        await chat.until(
            lambda: "a Unarchive" in keys_shown(chat) and "v Chats" in keys_shown(chat), by=("a", "v")
        )
        await chat.shows("'hello' is out of the archive", by="a")
        await chat.until(lambda: "a Archive" in keys_shown(chat) and "v Archived" in keys_shown(chat), by="v")
        assert ("a", "Put the chat into the archive, or take it out") in described_keys(chat.app)["Here"]
