"""Every command handles every unexpected value: it shows a sentence, and does nothing by half."""

import re
from itertools import cycle
from pathlib import Path

import pytest

from app.chat.slash_commands import SLASH_COMMANDS
from app.tui.widgets.notices import LONGEST, Notice
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.odd_values import odd_values

pytestmark = pytest.mark.drawn

NO_SENTENCE = re.compile(r"Traceback|\bErrno\b|\w+Error\b|<class|sys\.|codec can't")


@pytest.fixture
def values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return odd_values(folder)


async def give(chat: Chat, text: str) -> None:
    app = chat.app
    app.chat.view.notices.kept.clear()
    await chat.pilot.pause()
    before, drawn = _kept(chat), chat.screen
    chat.area.load_text(text)
    chat.area.call_later(chat.area.action_submit)
    await chat.pilot.pause()
    await chat.until(lambda: app.state.running is None)
    await chat.until(lambda: bool(_notices(chat) or app._notifications) or chat.screen != drawn)
    notices = _notices(chat)
    for notice in notices:
        assert not NO_SENTENCE.search(notice.text), notice.text
        assert len(notice.text) <= LONGEST + 40
    if any(notice.kind == "error" for notice in notices):
        assert _kept(chat) == before, "refused, and something was done all the same"
    assert app.is_running and app._exception is None
    app.clear_notifications()
    app.runner.return_to_chat()
    app.chat.action_back_to_prompt()
    chat.area.clear()
    app.chat.prompt.take_attachments()
    if app.state.editing is not None:
        app.chat.action_stop()
    if not chat.app.state.conversation.path:
        await chat.ask("think")


def _notices(chat: Chat) -> list[Notice]:
    return list(chat.app.chat.view.notices.kept)


def _kept(chat: Chat) -> tuple[object, ...]:
    one = chat.app.state.conversation
    return one.chat.id, one.chat.title, one.system, chat.app.state.settings, len(one.tree)


COMMANDS = [command.name for command in SLASH_COMMANDS if command.name != "quit"]


async def test_every_command_with_one_of_the_values(open_chat: OpenChat, values: list[str]) -> None:
    async with open_chat(asked="think") as chat:
        for command, value in zip(COMMANDS, cycle(values[::2])):
            await give(chat, f"/{command} {value}")
        assert (await chat.ask("hello")).text.startswith("The target")


@pytest.mark.slow
@pytest.mark.parametrize("command", [*COMMANDS, "nonsense", "attach @"])
async def test_any_command_with_any_value(open_chat: OpenChat, values: list[str], command: str) -> None:
    async with open_chat(asked="think") as chat:
        for value in values:
            await give(chat, f"/{command} {value}")
        for value in values if command == "attach" else ():
            await give(chat, f'@{value} and @"{value}"')
        assert (await chat.ask("hello")).text.startswith("The target")
