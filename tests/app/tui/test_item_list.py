from textual.app import App, ComposeResult
from textual.widgets import Static
from textual.widgets.option_list import Option

from app.tui.widgets.item_list import ItemList


class Listing(App[None]):
    CSS = "ItemList { height: 1fr; } Static { height: auto; }"

    def compose(self) -> ComposeResult:
        yield ItemList(*map(str, range(20)))
        yield Static()


def is_in_sight(items: ItemList) -> bool:
    """Whether the highlighted item is in view, for items of one line."""
    first = round(items.scroll_offset.y)
    assert items.highlighted is not None
    return first <= items.highlighted < first + items.scrollable_content_region.height


async def test_the_highlighted_item_stays_in_sight_in_a_shorter_list_and_in_one_filled_anew() -> None:
    app = Listing()
    async with app.run_test(size=(40, 12)) as pilot:
        items = app.query_one(ItemList)
        items.highlighted = items.scrollable_content_region.height - 1
        await pilot.pause()
        app.query_one(Static).update("\n".join("abcdef"))
        await pilot.pause()
        await pilot.pause()
        assert items.scrollable_content_region.height < 7 and is_in_sight(items)
        items.clear_options()
        items.add_options(map(str, range(30)))
        items.highlighted = 29
        await pilot.pause()
        assert is_in_sight(items)


async def test_a_page_key_in_a_terminal_without_room_for_the_list_ends_nothing() -> None:
    app = Listing()
    async with app.run_test(size=(2, 12)) as pilot:
        app.query_one(ItemList).highlighted = 1
        await pilot.press("pageup", "pagedown")
        assert app.query_one(ItemList).highlighted == 1


async def test_the_heading_above_the_first_item_comes_back_with_it_where_there_is_room_for_both() -> None:
    app = Listing()
    async with app.run_test(size=(40, 12)) as pilot:
        items = app.query_one(ItemList)
        items.clear_options()
        items.add_options([Option("Today", disabled=True), *map(str, range(30))])
        for back in (["home"], ["up"] * 29):
            await pilot.press("end", *back)
            await pilot.pause()
            assert items.highlighted == 1 and items.scroll_offset.y == 0
        await pilot.resize_terminal(40, 4)
        await pilot.pause()
        assert is_in_sight(items)
