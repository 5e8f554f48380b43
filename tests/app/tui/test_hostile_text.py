"""Foreign text on every screen: escape sequences, control characters and markup are shown, never obeyed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Paste
from textual.widgets import Input

from app.engine.events import DraftRound
from app.history.records import Attachment, Preset
from app.history.store import History
from app.shell.printable import printable
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.question import LineQuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.screens.totals import TotalsScreen
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.models.hub_server import HostedModel, HubServer

pytestmark = pytest.mark.drawn

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f[red]x[/red] [/bad]"
"""Sets the title, clears the screen, colours what follows, turns the line around; and is wrong markup."""

SIGN = "␛]0;owned"


async def look(chat: Chat, holds: Callable[[], bool], text: str = "") -> str:
    """The screen once a condition holds and it shows a text; fails on characters that a terminal obeys."""

    await chat.until(lambda: holds() and text in chat.screen)
    await chat.pilot.pause()
    shown = chat.screen.replace("\n", "")
    obeyed = ascii("".join(char for char in shown if printable(char) != char))
    assert obeyed == "''", f"{type(chat.app.screen).__name__} passes on {obeyed}"
    return shown


async def test_nothing_that_a_history_holds_is_obeyed(open_chat: OpenChat, tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    asked = replace(prompt("p1", f"needle {HOSTILE}"), attachments=(Attachment(HOSTILE, HOSTILE),))
    answered = answer("a1", "p1", HOSTILE)
    assert answered.facts is not None
    played = DraftRound(HOSTILE, (HOSTILE,), 0, HOSTILE, 0.1, 0.05, 0, 5)
    answered = replace(answered, facts=replace(answered.facts, pair=HOSTILE, rounds=(played,)))
    one = chat("c1", HOSTILE, leaf="a1", system=HOSTILE)
    history.save([one], [asked, answered])
    history.save_preset(Preset(HOSTILE, HOSTILE, one.options))
    history.close()
    async with open_chat(toasts=True) as opened:
        app, press = opened.app, opened.press
        await look(opened, lambda: "F7 goes on" in opened.screen, f"F7 goes on with '{SIGN}")
        await press("up")
        await look(opened, lambda: bool(opened.area.text), SIGN)
        opened.area.clear()
        await press("f6")
        await opened.until(lambda: isinstance(app.screen, SessionsScreen))
        sessions = app.screen
        assert isinstance(sessions, SessionsScreen)
        await look(opened, lambda: bool(sessions.rows), SIGN)
        await press("slash", *"needle")
        await look(opened, lambda: bool(sessions.rows and sessions.rows[0].excerpt), f"needle {SIGN}")
        await press("enter", "r")
        await look(opened, lambda: isinstance(app.screen, LineQuestionScreen), SIGN)
        await press("escape", "d")
        await look(opened, lambda: not sessions.rows, f"Deleted '{SIGN}")
        await press("u")
        await opened.until(lambda: bool(sessions.rows))
        await press("enter")
        await look(opened, lambda: bool(opened.answers), f"▤ {SIGN}")
        await press("f3")
        await look(opened, lambda: opened.answers[0].marks, SIGN)
        await opened.type("/preset")
        await look(opened, lambda: "Presets" in opened.notices[-1], f"Presets: {SIGN}")
        await press("f8")
        await look(opened, lambda: isinstance(app.screen, InspectorScreen), SIGN)
        await press("escape", "f9")
        await look(opened, lambda: isinstance(app.screen, TotalsScreen), SIGN)
        await press("escape", "tab", "up", "e")
        await look(opened, lambda: app.state.editing is not None, SIGN)


async def test_nothing_that_is_pasted_attached_queued_or_answered_is_obeyed(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a\x1b]0;owned\x07\x9b[red]").write_text("?")
    (folder / "about").write_text(HOSTILE)
    monkeypatch.chdir(folder)
    async with open_chat() as opened:
        app, press = opened.app, opened.press
        await press("at", "a")
        shown = await look(opened, lambda: opened.app.chat.prompt.menu.is_open)
        assert "about" in shown and "owned" not in shown
        await press("tab", "enter")
        await look(opened, lambda: bool(opened.answers), "▤ about")
        await opened.type("slow")
        await opened.until(lambda: app.state.running is not None)
        app.post_message(Paste(HOSTILE))
        await opened.until(lambda: bool(opened.area.text))
        await press("enter")
        await look(opened, lambda: bool(app.state.queued), f"next: {SIGN}")
        await press("up")
        await look(opened, lambda: not app.state.queued, SIGN)
        opened.area.clear()
        await press("escape")
        await opened.until(lambda: app.state.running is None)
        await opened.ask("controls")
        await press("f5")
        await opened.until(lambda: isinstance(app.screen, CompareScreen))
        compare = app.screen
        assert isinstance(compare, CompareScreen)
        await look(opened, lambda: compare.record is not None, "␛[31m")
        await press("escape")
        await app.runner.run("/comparisons")
        await look(opened, lambda: isinstance(app.screen, ComparisonsScreen))
        await press("escape", "f6", "slash")
        await opened.until(lambda: isinstance(app.screen, SessionsScreen))
        app.post_message(Paste(HOSTILE))
        await look(opened, lambda: bool(app.screen.query_one(Input).value), SIGN)


@pytest.mark.slow  # the download's process imports the Hub's client
async def test_nothing_that_a_hub_says_is_obeyed(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    config = b'{"model_type": "\\u001b]0;owned\\u0007\\u009b31m"}'
    hostile = HostedModel({"config.json": config, "model.safetensors": b"x", "tokenizer.json": b"{}"})
    with HubServer({"org/hostile": hostile}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        async with open_chat() as opened:
            app, press = opened.app, opened.press
            await opened.push(OwnPairScreen())
            for field in ("#own-target", "#own-draft"):
                app.screen.query_one(field, Input).value = "org/hostile"
            app.screen.query_one("#own-draft").focus()
            await press("enter")
            message = app.screen.query_one("#message")
            shown = await look(opened, lambda: str(message.render()).startswith("✗"))
            assert "owned" in shown, shown
