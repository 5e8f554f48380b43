"""Every text of every screen is readable in every theme: its contrast is computed as drawn."""

import re
from collections.abc import Iterator, Sequence

import pytest
from textual.app import App
from textual.color import Color
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import Input, OptionList

from app.tui.screens.compare import CompareScreen
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.hub_search import HubSearchScreen
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.notices import NoticesScreen
from app.tui.screens.palette import Palette
from app.tui.screens.question import QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.screens.totals import TotalsScreen
from app.tui.theme import (
    DARK,
    EDGE_CONTRAST,
    LIGHT,
    OWN_THEMES,
    TEXT_CONTRAST,
    contrast,
    in_256,
    luminance,
    readable,
)
from app.tui.widgets.answer import Answer
from app.tui.widgets.key_line import KeyLine
from models.speed.machine import Machine
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.pairs_driver import open_pairs
from tests.models.hub_server import HostedModel, HubServer

pytestmark = pytest.mark.usefixtures("own_hub_cache")

DRAWING = re.compile(r"[\s─-▟⠀-⣿]*")
"""Blanks, frames, bars, the dots of a plot: no text."""
COLOURED = [theme for theme in (*OWN_THEMES, *BUILTIN_THEMES.values()) if not theme.ansi]


def texts(app: App[None]) -> Iterator[tuple[str, Color, Color]]:
    """(text, colour, background) of every piece of text on the screen; of a dialog only those inside it."""
    screen = app.screen
    seen = screen.size.region
    if isinstance(screen, ModalScreen):
        widgets = [widget for widget in screen.query("*") if not isinstance(widget, KeyLine)]
        seen = Region.from_union([widget.region for widget in widgets if widget.region.area])
    for y, strip in enumerate(screen._compositor.render_strips()):
        if seen.y <= y < seen.bottom:
            for segment in strip.crop(seen.x, seen.right):
                style = segment.style
                if style is not None and not DRAWING.fullmatch(segment.text):
                    assert not style.dim, f"{segment.text!r} is dim: the terminal decides how readable"
                    assert style.color and style.bgcolor, segment
                    pair = style.color.get_truecolor(), style.bgcolor.get_truecolor()
                    colour, ground = (Color(*one) for one in (reversed(pair) if style.reverse else pair))
                    yield segment.text, colour, ground


async def assert_readable(chat: Chat, where: str) -> None:
    if isinstance(chat.app.screen, ModalScreen):
        chat.app.clear_notifications()
    await chat.pilot.pause(0.1)
    found = list(texts(chat.app))
    assert found, f"{where} shows no text"
    for text, colour, ground in found:
        ratio = contrast(colour, ground)
        assert ratio >= TEXT_CONTRAST, f"{where}: {text!r} is {colour.hex} on {ground.hex}, {ratio:.2f} to 1"


def test_contrast_is_that_of_the_web_guidelines() -> None:
    white, black, grey = (Color.parse(name) for name in ("#ffffff", "#000000", "#777777"))
    assert luminance(white) == pytest.approx(1) and luminance(black) == 0
    assert contrast(white, black) == pytest.approx(21) == contrast(black, white)
    assert contrast(grey, white) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("of_256", [False, True], ids=["", "of 256 colours"])
@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_a_themes_texts_and_frames_stand_out_and_lose_no_colour_that_did(theme: Theme, of_256: bool) -> None:
    given = theme.to_color_system().generate()
    found = readable(theme, given, of_256=of_256)
    names = ("background", "surface", "panel")
    rows = [f"{what}-background" for what in ("block-cursor", "screen-selection", "input-selection")]
    grounds = [Color.parse(found[name]) for name in (*names, *rows)]

    def least(colour: Color, grounds: Sequence[Color]) -> float:
        return min(contrast(colour, ground, of_256=of_256) for ground in grounds)

    for name, value in found.items():
        if name.startswith("text-") or name == "foreground-muted":
            assert least(Color.parse(value), grounds) >= TEXT_CONTRAST, name
    for name in ("border", "border-blurred"):
        assert least(Color.parse(found[name]), grounds[:2]) >= EDGE_CONTRAST
    own = Color.parse(given["success"])
    if least(own, grounds) > TEXT_CONTRAST + 1:
        assert found["text-success"] == own.hex
    if of_256:
        drawn = [in_256(ground) for ground in grounds]
        assert all(colour.r == colour.g == colour.b for colour in drawn), "no black, yellow or teal ground"
        assert drawn[0] != drawn[1] and drawn[0] != drawn[3], "code and chosen rows have their own"


def colours(app: App[None]) -> set[str]:
    drawn = (segment for strip in app.screen._compositor.render_strips() for segment in strip)
    styles = [segment.style for segment in drawn if segment.style and not segment.text.isspace()]
    return {c.get_truecolor().hex for style in styles for c in (style.color, style.bgcolor) if c}


async def no_colour_is_left(chat: Chat) -> None:
    """Change to our other theme."""
    await chat.pilot.pause(0.1)
    before, other = colours(chat.app), {DARK.name: LIGHT.name, LIGHT.name: DARK.name}
    chat.app.theme = other[chat.app.theme]
    await chat.until(lambda: before.isdisjoint(colours(chat.app)))


@pytest.mark.parametrize(
    ("theme", "others"),
    [
        pytest.param(DARK, ("nord", "catppuccin-latte"), id="dark"),
        pytest.param(LIGHT, [theme.name for theme in COLOURED], id="light", marks=pytest.mark.slow),
    ],
)
async def test_every_screen_can_be_read_also_in_another_theme_which_leaves_no_colour_of_the_one_before(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch, theme: Theme, others: Sequence[str]
) -> None:
    mac = Machine(36_000_000_000, 500_000_000_000, has_metal=True)
    monkeypatch.setattr("app.tui.screens.hub_search.this_machine", lambda: mac)
    for name, weights in (("Small", 1), ("Tight", 80), ("Huge", 900)):
        hub.models[f"mlx-community/Qwen3-odd-{name}"] = HostedModel(
            {}, tags=("mlx", "license:mit"), downloads=9, parameters={"U32": weights * 10**8}
        )
    async with open_chat((100, 30), pair="builtin", welcomes=True, toasts=True) as chat:
        chat.app.theme = theme.name
        await chat.reached(FirstRunScreen)
        await chat.shows("fit here")
        await assert_readable(chat, "the first start")
        await chat.back_in_chat(by="escape")
        await chat.press("slash", "s")
        await assert_readable(chat, "the list of commands")
        await chat.press("escape")
        chat.area.load_text("")
        await chat.stream("hold")
        await assert_readable(chat, "an answer that grows")
        await chat.answered(1, by="escape")
        await chat.ask("markdown")
        chat.app.chat.view.show_marks(True)
        await chat.shows("accepted drafted")
        await no_colour_is_left(chat)
        for name in (*others, theme.name):
            chat.app.theme = name
            for marked in (True, False):
                chat.app.chat.view.show_marks(marked)
                await assert_readable(chat, f"the chat in {name}, with marks: {marked}")
        await chat.until(lambda: not chat.answers, by="ctrl+n")
        await chat.ask("think")
        await chat.shows("There is no pair org/name", by="/use org/name")
        await assert_readable(chat, "a notice of a mistake")
        chat.app.chat.view.note("It failed.", "error")
        await chat.shows("It failed.", "Temperature is 0.5", by="/temperature 0.5")
        await assert_readable(chat, "answers and notices")
        await chat.press("tab")
        await assert_readable(chat, "a chosen message")
        await chat.pilot.click("Answer", offset=(5, 0), times=2)
        await assert_readable(chat, "a selected message")
        await chat.reached(InspectorScreen, by=("tab", "f8"))
        await chat.until(lambda: chat.app.screen.query_one(OptionList).highlighted is not None)
        await assert_readable(chat, "the rounds")
        await chat.reached(TotalsScreen, by=("escape", "f9"))
        await assert_readable(chat, "this chat")
        await chat.press("escape", "f1")
        await assert_readable(chat, "the help")
        await chat.reached(Palette, by=("escape", "ctrl+p"))
        await chat.shows("Search for commands", "/compare")
        await assert_readable(chat, "the palette")
        await no_colour_is_left(chat)
        chat.app.theme = theme.name
        sessions = await chat.reached(SessionsScreen, by=("escape", "f6"))
        await chat.until(lambda: bool(sessions.rows))
        await chat.until(lambda: bool(sessions.rows[0].hit), by=("slash", *"hold"))
        await assert_readable(chat, "a search in the chats")
        await chat.back_in_chat(by=("escape", "escape"))
        compare = await chat.reached(CompareScreen, by="f5")
        await chat.until(lambda: bool(compare.query_one("#plain").query_one(Answer).text))
        await assert_readable(chat, "a comparison that runs")
        await chat.until(lambda: compare.record is not None)
        await assert_readable(chat, "a comparison")
        await chat.press("escape")
        sweep = await chat.reached(CompareScreen, by="/sweep length=1-2 repeats=1")
        await chat.until(lambda: sweep.record is not None)
        await chat.shows("draft length (0: plain)")
        await assert_readable(chat, "a sweep")
        await no_colour_is_left(chat)
        chat.app.theme = theme.name
        await chat.press("escape")
        await chat.type("/comparisons")
        await assert_readable(chat, "the comparisons")
        await chat.press("escape")
        await chat.reached(NoticesScreen, by="/notices")
        await chat.shows("There is no pair org/name", "Temperature is 0.5")
        await assert_readable(chat, "the notices")
        await chat.press("escape")
        await open_pairs(chat, "qwen3-8b")
        for name in (*others, theme.name):
            chat.app.theme = name
            await assert_readable(chat, f"the pairs in {name}")
        await chat.reached(QuestionScreen, by="enter")
        await assert_readable(chat, "a question")
        await chat.until(lambda: bool(chat.app.screen.query(Input)), by=("n", "a"))
        await assert_readable(chat, "a pair of one's own")
        search = await chat.reached(HubSearchScreen, by=("escape", "h"))
        await assert_readable(chat, "a search on the Hub that has not begun")
        await chat.until(lambda: len(search.models) == 3, by=(*"odd", "enter"))
        await chat.shows("fits", "tight", "does not fit", "mit")
        await assert_readable(chat, "what the Hub has")
        hub.status = 500
        await chat.shows("error 500", by=("slash", "enter"))
        await assert_readable(chat, "a search that failed")


async def test_a_terminal_with_256_colours_is_given_grey_grounds_and_texts_that_can_be_read_on_them(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLORTERM")
    monkeypatch.setenv("TERM", "xterm-256color")
    async with open_chat((100, 40), asked="markdown") as chat:
        await chat.pilot.click("Answer", offset=(5, 3), times=2)  # selects all of it
        await chat.shows("/help", by="slash")
        for text, colour, ground in texts(chat.app):
            drawn = in_256(ground)
            assert drawn.r == drawn.g == drawn.b, text
            assert contrast(colour, ground, of_256=True) >= TEXT_CONTRAST, text


async def test_in_the_terminals_own_colours_texts_are_on_its_own_background_and_the_chosen_row_is_underlined(
    open_chat: OpenChat,
) -> None:
    async with open_chat((100, 30), asked="hold on") as chat:
        sessions = await chat.reached(SessionsScreen, by="f6")
        await chat.until(lambda: bool(sessions.rows[0].hit), by=("slash", *"hold", "enter"))
        for name in ("ansi-dark", "ansi-light"):
            chat.app.theme = name
            await chat.pilot.pause(0.1)
            drawn = [segment for strip in sessions._compositor.render_strips() for segment in strip]
            styles = [(one.text, one.style) for one in drawn if one.style and not DRAWING.fullmatch(one.text)]
            assert all(style.bgcolor and style.bgcolor.is_default for _, style in styles), name
            row = [(text, style) for text, style in styles if style.underline]
            assert "".join(text for text, _ in row).split()[:2] == ["hold", "on"]
            assert row[0][1].color != row[1][1].color, "the word that was found"
