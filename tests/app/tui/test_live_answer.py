"""An answer that grows, drawn line by line."""

import re

from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from app.engine.events import Mark, Piece
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.marked_lines import MARK_CLASSES

TEXT = "".join(f"line {number} 日本 and words that are broken at this width\n" for number in range(6))


class Growing(App[None]):
    CSS = ".mark--accepted { text-style: underline; } LiveAnswer { height: auto; }"

    def compose(self) -> ComposeResult:
        yield LiveAnswer()


def drawn(live: LiveAnswer) -> list[Strip]:
    return live.render_lines(live.size.region)


def text_of(strips: list[Strip]) -> str:
    return " ".join(" ".join(strip.text for strip in strips).split())


async def test_an_answer_is_drawn_whole_while_it_grows_changes_its_width_and_begins_again() -> None:
    app = Growing()
    async with app.run_test(size=(30, 40)) as pilot:
        live = app.query_one(LiveAnswer)
        marks: list[Mark] = list(MARK_CLASSES)
        for number, word in enumerate(re.findall(r"\S+\s*", TEXT)):
            live.add([Piece(word, marks[number % 3])])
            await pilot.pause()
            assert text_of(drawn(live)) == " ".join(live.text.split())
        assert live.text == TEXT and live.size.height > 12
        await pilot.resize_terminal(80, 40)
        assert text_of(drawn(live)) == " ".join(TEXT.split()) and live.size.height == 7
        live.clear()
        live.add([Piece("one two ", "accepted"), Piece("three\nfour", "plain")])
        await pilot.pause()
        first = drawn(live)[0]
        assert [s.text for s in first if s.style and s.style.underline] == ["one two"]
        app.screen.selections = {live: Selection(Offset(4, 0), Offset(2, 1))}
        await pilot.pause()
        style = app.screen.get_component_rich_style("screen--selection")
        selected = [
            s.text for strip in drawn(live) for s in strip if s.style and s.style.bgcolor == style.bgcolor
        ]
        assert "".join(selected) == "two threefo"
        assert app.screen.get_selected_text() == "two three\nfo"
        await live.remove()
        live.render_line(0)  # a removed answer may be drawn once more
