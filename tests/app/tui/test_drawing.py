"""What it takes to draw an answer that grows: layouts and rows, which is what the process works for."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from rich.console import Console
from rich.style import Style as RichStyle
from textual._compositor import ChopsUpdate, Compositor
from textual._styles_cache import StylesCache
from textual.geometry import Region
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions
from textual.widget import Widget

from app.engine.events import Piece
from app.tui.widgets import live_answer
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.scroll_bar import BarVisual
from tests.app.tui.chat_driver import Chat, OpenChat

Grow = Callable[[], "AbstractAsyncContextManager[Growing]"]


class Growing:
    """A live answer in the chat, and what was done to draw it."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.live = LiveAnswer()
        self.layouts = 0
        self.rows: list[int] = []
        """Rows written to the terminal, per frame."""

    async def add(self, text: str) -> None:
        frames = len(self.rows)
        self.live.add([Piece(text, "accepted")])
        await self.chat.until(lambda: len(self.rows) > frames)
        # Whatever is drawn a second time is drawn by then.
        await self.chat.pilot.pause(0.05)

    async def settled(self) -> None:
        """Wait until nothing moves, and count from there."""
        layouts = -1
        while layouts != self.layouts:
            layouts = self.layouts
            await self.chat.pilot.pause(0.3)
        self.layouts = 0
        self.rows.clear()

    def count(self, _: object) -> None:
        self.layouts += 1


@pytest.fixture
def growing(open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch) -> Grow:
    @asynccontextmanager
    async def running() -> AsyncIterator[Growing]:
        async with open_chat() as chat:
            await chat.until(lambda: chat.app.link.state == "ready")
            screen = chat.app.chat
            screen.prompt.area.cursor_blink = False
            answer = Growing(chat)
            screen.transcript.show(answer.live)
            screen.screen_layout_refresh_signal.subscribe(screen.transcript, answer.count, immediate=True)
            original = Compositor.render_partial_update

            def recorded(compositor: Compositor) -> ChopsUpdate | None:
                update = original(compositor)
                if update is not None:
                    answer.rows.append(len(update.spans))
                return update

            monkeypatch.setattr(Compositor, "render_partial_update", recorded)
            await answer.settled()
            yield answer

    return running


async def test_words_that_fit_the_last_line_take_one_row_each_and_no_layout(growing: Grow) -> None:
    async with growing() as answer:
        for _ in range(10):
            await answer.add("word ")
        assert answer.layouts == 0
        assert set(answer.rows) == {1} and len(answer.rows) >= 10


async def test_nothing_below_the_transcript_is_asked_for_its_rows_by_a_word(
    growing: Grow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with growing() as answer:
        asked: list[Widget] = []
        original = StylesCache.render_widget

        def recorded(cache: StylesCache, widget: Widget, crop: Region) -> list[Strip]:
            asked.append(widget)
            return original(cache, widget, crop)

        monkeypatch.setattr(StylesCache, "render_widget", recorded)
        for _ in range(5):
            await answer.add("word ")
        transcript = answer.chat.app.chat.transcript
        assert answer.live in asked
        assert [widget for widget in asked if transcript not in widget.ancestors] == []


async def test_the_cursor_does_not_blink_while_an_answer_grows(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        area = chat.app.chat.prompt.area
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.text))
        assert not area.cursor_blink
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.state.running is None)
        await chat.until(lambda: area.cursor_blink)


async def test_a_new_line_takes_one_layout_and_the_words_after_it_one_row(
    growing: Grow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_answer, "AHEAD_SECONDS", 0)
    async with growing() as answer:
        await answer.add("\nline" * 40)  # The scrollbar is there from here on.
        await answer.settled()
        for _ in range(10):
            frames = len(answer.rows)
            await answer.add("\nline")
            assert answer.rows[-1] > 1 and len(answer.rows) == frames + 1
            await answer.add(" word")
            assert answer.rows[-1] == 1
        assert answer.layouts == 10
        assert answer.live.size.height == 51


async def test_lines_that_come_fast_take_few_layouts_and_are_all_shown(
    growing: Grow, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(live_answer, "monotonic", lambda: now)
    async with growing() as answer:
        for number in range(40):
            now += 0.1
            await answer.add(f"line {number}\n")
        assert answer.layouts <= 20
        assert 41 <= answer.live.size.height <= 41 + live_answer.MOST_AHEAD
        shown = [strip.text.strip() for strip in answer.live.render_lines(answer.live.size.region)]
        assert shown[:40] == [f"line {number}" for number in range(40)] and not any(shown[40:])


async def test_empty_rows_go_when_the_text_pauses(growing: Grow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_answer, "BACK_SECONDS", 0.2)
    monkeypatch.setattr(live_answer, "monotonic", lambda: 0.0)
    async with growing() as answer:
        await answer.add("\nline")
        taken = answer.live.size.height
        await answer.chat.until(lambda: answer.live.size.height == 2)
        assert taken == 2 + live_answer.MOST_AHEAD


async def test_lines_that_come_slowly_leave_no_empty_row(
    growing: Grow, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(live_answer, "monotonic", lambda: now)
    async with growing() as answer:
        for count in range(2, 8):
            now += 1.0
            await answer.add("\nline")
            assert answer.live.size.height == count


async def test_lines_that_were_drawn_follow_the_answers_looks(growing: Grow) -> None:
    def drawn() -> list[Strip]:
        return answer.live.render_lines(answer.live.size.region)

    async with growing() as answer:
        await answer.add("one\ntwo\nthree")
        before = drawn()
        answer.live.add_class("-selected")
        await answer.add("")
        chosen = drawn()
        assert chosen[0] != before[0] and chosen[0].text != before[0].text
        answer.live.remove_class("-selected")
        await answer.add("")
        assert [strip.text for strip in drawn()] == [strip.text for strip in before]


async def test_an_answer_that_was_taken_out_can_be_drawn_once_more(growing: Grow) -> None:
    async with growing() as answer:
        await answer.add("one\ntwo")
        region = answer.live.size.region
        await answer.live.remove()
        assert not answer.live.is_attached
        assert len(answer.live.render_lines(region)) == region.height
        answer.live.render_line(0)


@pytest.mark.parametrize("vertical", [True, False])
@pytest.mark.parametrize("position", [0, 3.5, 40, 79])
def test_a_scrollbar_looks_like_textuals(vertical: bool, position: float) -> None:
    length, style = 21, RichStyle.parse("#ff0000 on #00ff00")
    size = {"width": 1, "height": length} if vertical else {"width": length, "height": 1}
    looks = {
        "virtual_size": 100,
        "window_size": 21,
        "position": position,
        "vertical": vertical,
        "style": style,
    }
    console = Console(width=size["width"], height=size["height"], color_system="truecolor")
    options = console.options.update(width=size["width"], height=size["height"])
    theirs = console.render_lines(ScrollBarRender(**looks), options, new_lines=False)
    ours = BarVisual(**looks).render_strips(
        size["width"], size["height"], Style(), RenderOptions(lambda _: Style(), {})
    )
    assert [[(s.text, s.style) for s in line] for line in ours] == [
        [(s.text, s.style) for s in line] for line in theirs[: size["height"]]
    ]
