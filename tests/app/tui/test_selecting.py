"""Selecting text with the mouse."""

from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static

from app.tui.screens.selecting import SelectingScreen

WORDS = "one two three four five six seven eight nine ten"


class Wrapped(App[None]):
    """A text of one line on two rows, one of three lines, one of characters with two cells."""

    CSS = "Static { padding: 0 2; width: 34; } #wide { padding: 1 2 0 2; }"

    def get_default_screen(self) -> Screen[None]:
        return SelectingScreen()

    def compose(self) -> ComposeResult:
        yield Static(WORDS, id="wrapped")
        yield Static("a\nb\nc", id="lines")
        yield Static("a👩‍💻b日本c\nd", id="wide")


async def test_a_drag_from_beside_a_wrapped_text_selects_from_the_beginning_of_that_row() -> None:
    app = Wrapped()
    async with app.run_test(size=(60, 10)) as pilot:
        assert app.query_one("#wrapped").content_region.height == 2
        await pilot.mouse_down(offset=(0, 1))
        await pilot.hover(offset=(9, 1))
        await pilot.mouse_up(offset=(9, 1))
        assert app.screen.get_selected_text() == "seven ei"


async def test_a_drag_selects_up_to_the_cell_under_the_mouse_and_emoji_of_several_parts_whole() -> None:
    app = Wrapped()
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.mouse_down(offset=(2, 5))  # above the text
        for column, selected in (
            (1, "a👩‍💻"),
            (2, "a👩‍💻"),
            (3, "a👩‍💻b"),
            (5, "a👩‍💻b日"),
            (8, "a👩‍💻b日本c"),
        ):
            await pilot.hover(offset=(2 + column, 6))
            assert app.screen.get_selected_text() == selected


async def test_a_text_that_becomes_shorter_than_what_is_selected_of_it_ends_nothing() -> None:
    app = Wrapped()
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.mouse_down(offset=(2, 3))
        await pilot.hover(offset=(3, 4))
        await pilot.mouse_up(offset=(3, 4))
        assert app.screen.get_selected_text() == "b\nc"
        app.query_one("#lines", Static).update("a")
        assert app.screen.get_selected_text() is None


async def test_a_click_on_a_widget_that_was_just_removed_ends_nothing() -> None:
    app = Wrapped()
    async with app.run_test(size=(60, 10)) as pilot:
        with app.batch_update():  # the screen is not drawn anew
            await app.query_one("#lines").remove()
            await pilot.click(offset=(2, 3))
        assert not app.screen.get_selected_text()


class WithKeys(Wrapped):
    """A text in a part of its own, another one below."""

    def compose(self) -> ComposeResult:
        yield Vertical(Static("one\ntwo"), Static("three"))
        yield Static("keys", id="keys")

    CSS = "Vertical { height: 4; }"


async def test_a_drag_takes_nothing_outside_the_part_where_it_began_and_the_next_begins_anew() -> None:
    app = WithKeys()
    async with app.run_test(size=(60, 10)) as pilot:
        for _ in range(2):
            await pilot.mouse_down(offset=(1, 0))
            assert not app.screen.selections
            await pilot.hover(offset=(2, 2))
            await pilot.hover(offset=(3, 4))
            await pilot.mouse_up(offset=(3, 4))
            assert app.screen.get_selected_text() == "ne\ntwo\nthree"
