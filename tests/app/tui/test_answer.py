"""An answer as it is drawn: growing, with or without marks, and the mouse selection in it."""

import asyncio
import re
import time
from collections.abc import Callable
from itertools import chain, repeat
from typing import get_args

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from app.engine.events import Mark, Piece
from app.tui.widgets.answer import Answer
from tests.app.tui.chat_driver import Chat, OpenChat

LINES = [f"- line {n} **日本** and words that are broken at `this` width\n" for n in range(2)]
TEXT = f"# Head\n\n{''.join(LINES)}"
MARKS: list[Mark] = list(get_args(Mark))
SHOWN = "Head " + " ".join(f"• line {n} 日本 and words that are broken at this width" for n in range(2))

CODE = """\
Before it.

```python
def f():
    return 1
```

After **it**, a long sentence is broken in two lines."""


class Growing(App[None]):
    CSS = "Answer { height: auto; }"

    def compose(self) -> ComposeResult:
        yield Answer(marks=True, growing=True)


def drawn(answer: Answer) -> list[Strip]:
    return answer.render_lines(answer.size.region)


def text_of(strips: list[Strip]) -> str:
    return " ".join(" ".join(strip.text for strip in strips).split())


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition: an answer draws its text a little later, on a busy machine much later."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def underlined(strips: list[Strip]) -> list[str]:
    return [part.text for strip in strips for part in strip if part.style and part.style.underline]


async def drawn_as_another_of_its_text(app: App[None], answer: Answer) -> None:
    fresh = Answer([Piece(answer.text, "plain")], growing=True)
    await app.mount(fresh)
    await until(lambda: fresh.size.width > 0 and text_of(drawn(answer)) == text_of(drawn(fresh)))
    await fresh.remove()


async def test_an_answer_is_drawn_whole_while_it_grows_changes_its_width_and_begins_again() -> None:
    app = Growing()
    async with app.run_test(size=(30, 40)) as pilot:
        answer = app.query_one(Answer)
        for number, word in enumerate(re.findall(r"\S+\s*", TEXT)):
            answer.add([Piece(word, MARKS[number % 3])])
            await drawn_as_another_of_its_text(app, answer)
        assert answer.text == TEXT and text_of(drawn(answer)) == SHOWN and answer.size.height == 6
        await pilot.resize_terminal(80, 40)
        await until(lambda: answer.size.width > 70 and answer.size.height == 4)
        assert text_of(drawn(answer)) == SHOWN
        answer.end([Piece(TEXT, "plain")], "6 tokens", "‹1/2›")
        await until(lambda: text_of(drawn(answer)) == f"{SHOWN} ‹1/2› 6 tokens")
        answer.end((), "", "")
        await until(lambda: answer.size.height == 1)
        await answer.remove()
        answer.render_line(0)  # a removed answer may be drawn once more


async def test_words_are_drawn_on_a_machine_so_busy_that_seconds_pass_while_a_timer_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = Growing()
    async with app.run_test(size=(30, 40)):
        answer = app.query_one(Answer)
        passed = chain([0], repeat(5))
        monkeypatch.setattr("textual._time.get_time", lambda: time.monotonic() + next(passed))
        answer.add([Piece("words", "plain")])
        await until(lambda: text_of(drawn(answer)) == "words")


@pytest.mark.drawn
async def test_lines_broken_at_another_width_are_drawn_where_no_region_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a change of padding, which is drawn before it is laid out."""
    app = Growing()
    async with app.run_test(size=(30, 40)) as pilot:
        answer = app.query_one(Answer)
        answer.end([Piece(TEXT, "plain")], "", "")
        await until(lambda: answer.size.height == 6)
        await pilot.pause()
        lines: list[int] = []
        honest = Answer.render_line
        monkeypatch.setattr(Answer, "render_line", lambda of, y: (lines.append(y), honest(of, y))[1])
        answer.get_content_height(answer.size, answer.size, answer.size.width - 1)
        await until(lambda: lines == [*range(6)])


async def test_what_is_drawn_between_a_text_and_the_next_one_hides_none_of_it() -> None:
    """A comparison clears its panes and fills them again before the next layout."""
    app = Growing()
    async with app.run_test(size=(30, 40)) as pilot:
        answer = app.query_one(Answer)
        answer.end([Piece(TEXT, "plain")], "", "")
        await until(lambda: answer.size.height == 6)
        answer.end((), "", "")
        assert answer.size.height == 6 and text_of(drawn(answer)) == ""
        answer.end([Piece(TEXT, "plain")], "", "")
        assert text_of(drawn(answer)) == SHOWN
        await pilot.pause()
        assert text_of(drawn(answer)) == SHOWN


async def test_marks_are_drawn_over_the_same_lines_and_follow_the_tokens() -> None:
    app = Growing()
    async with app.run_test(size=(60, 20)):
        answer = app.query_one(Answer)
        first, last = Piece("one **tw", "accepted"), Piece("ur`\n", "accepted")
        answer.add([first, Piece("o** three\n- `fo", "bonus"), last])
        await until(lambda: underlined(drawn(answer)) == ["one", "tw", "ur"])
        marked = drawn(answer)
        answer.marks = False
        await until(lambda: underlined(drawn(answer)) == [])
        assert [strip.text for strip in drawn(answer)] == [strip.text for strip in marked]
        answer.end([*answer.pieces], "", "")
        answer.marks = True
        await until(lambda: underlined(drawn(answer)) == ["one", "tw", "ur"])


@pytest.mark.parametrize(
    ("begun", "said"), [("<think>", "think"), ("<|channel|>analysis<|message|>", "analysis")]
)
async def test_a_thought_that_is_a_part_of_its_own_tag_is_marked_where_it_is(begun: str, said: str) -> None:
    app = Growing()
    async with app.run_test(size=(60, 20)):
        answer = app.query_one(Answer)
        answer.add([Piece(begun, "plain"), Piece(said, "accepted")])
        await until(lambda: underlined(drawn(answer)) == [said])
        assert answer.get_selection(Selection(Offset(0, 1), Offset(3, 1))) == (said[:3], "\n")


async def test_a_visible_character_of_several_tokens_is_drawn_whole() -> None:
    app = Growing()
    async with app.run_test(size=(60, 20)):
        answer = app.query_one(Answer)
        texts = ("a👩", "\u200d💻 🇩", "🇪🇫🇷 e", "\u0301 مرحبا")
        answer.add([Piece(text, mark) for text, mark in zip(texts, (*MARKS, MARKS[1]), strict=True)])
        await until(lambda: "مرحبا" in text_of(drawn(answer)))
        pieces = [segment.text for segment in answer.render_line(0)]
        for whole in ("👩\u200d💻", "🇩🇪", "🇫🇷", "e\u0301", "مرحبا"):
            assert any(whole in piece for piece in pieces), (whole, pieces)


async def test_a_selection_is_the_source_of_what_it_covers() -> None:
    app = Growing()
    async with app.run_test(size=(40, 20)) as pilot:
        answer = app.query_one(Answer)
        answer.add([Piece(CODE, "plain")])
        await until(lambda: "two lines." in text_of(drawn(answer)))
        for start, end, selected in (
            (Offset(7, 0), Offset(7, 6), CODE[7 : CODE.index("**it") + 3]),
            (Offset(0, 3), Offset(30, 3), "def f():"),
            (Offset(5, 3), Offset(11, 4), "f():\n    return"),
            (Offset(0, 6), Offset(80, 7), CODE[CODE.index("After") :]),
            (None, Offset(4, 0), "Befo"),
            (Offset(4, 7), None, "lines."),
            (None, None, CODE),
        ):
            app.screen.selections = {answer: Selection(start, end)}
            await pilot.pause()
            assert app.screen.get_selected_text() == selected
        app.screen.selections = {answer: Selection(Offset(0, 2), Offset(9, 3))}
        await pilot.pause()
        colours = [{part.style and part.style.bgcolor for part in drawn(answer)[y]} for y in (2, 3, 4)]
        assert len(colours[0]) == len(colours[2]) == 1 and len(colours[1]) == 2


async def test_dragging_over_an_answer_copies_its_text_and_a_click_on_codes_corner_copies_that(
    open_chat: OpenChat, copied: list[str]
) -> None:
    async with open_chat(size=(80, 24), asked="think") as chat:
        await chat.shows("x = 1")
        await drag(chat, "it is:", to="x = 1")
        await chat.until(lambda: copied == ["it is:\n```python\nx = 1"])
        await chat.pilot.click(offset=place(chat, "it is:"))
        await chat.pilot.click(offset=place(chat, "copy"))
        await chat.until(lambda: copied[1:] == ["x = 1\n"])
        chat.app.chat.view.show_marks(True)
        await chat.stream("hold")
        await chat.shows("its own token and")
        await drag(chat, "draft model", to="guesses")
        await chat.until(lambda: copied[2:] == ["draft model guesses"])
        await chat.pilot.triple_click(offset=place(chat, "draft model"))
        selected = chat.app.screen.get_selected_text() or ""
        assert selected.startswith("think\n"), "nothing of the hidden welcome"
        assert chat.app.focused is chat.area


def place(chat: Chat, text: str, *, end: bool = False) -> tuple[int, int]:
    """Column and line of the last occurrence of a text on the screen."""
    y, line = next((y, line) for y, line in reversed([*enumerate(chat.screen.split("\n"))]) if text in line)
    return line.index(text) + (len(text) - 1 if end else 0), y


async def drag(chat: Chat, start: str, *, to: str) -> None:
    await chat.pilot.mouse_down(offset=place(chat, start))
    await chat.pilot.hover(offset=place(chat, to, end=True))
    await chat.pilot.mouse_up(offset=place(chat, to, end=True))
