"""Drives the pairs screen."""

from textual.widgets import OptionList, Static

from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from tests.app.tui.chat_driver import Chat


def text_of(chat: Chat, where: str) -> str:
    return str(chat.app.screen.query_one(where, Static).content)


def rows(screen: PairsScreen) -> dict[str | None, str]:
    """Those of pairs; headings have no id."""
    options = screen.query_one(OptionList).options
    return {option.id: str(option.prompt) for option in options if option.id is not None}


async def open_pairs(chat: Chat, name: str = "builtin") -> PairsScreen:
    await chat.pilot.press("f2")
    screen = await chat.reached(PairsScreen)
    await chat.until(lambda: all(facts.fit for facts in screen.facts.values()))
    screen.show_list(name)
    await chat.pilot.pause()
    return screen


async def answer(chat: Chat, key: str) -> None:
    """Answer the question that is asked."""
    await chat.reached(QuestionScreen)
    await chat.pilot.press(key)
    await chat.reached(PairsScreen)
