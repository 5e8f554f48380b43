"""The words of a search are marked, whatever the texts contain."""

from pathlib import Path

import pytest
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList

from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.found_words import places, with_found
from app.tui.widgets.message import Message
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_saved_chats import put


def marked(text: str, *words: str) -> list[str]:
    content = with_found(Content(text), words)
    return [content.plain[span.start : span.end] for span in content.spans]


def underlined(strips: list[Strip]) -> list[str]:
    parts = [part for strip in strips for part in strip if part.style]
    return [part.text for part in parts if part.style.underline and part.style.bold]  # type: ignore[union-attr]


def colours(message: Message, *, found: bool) -> set[object]:
    """The colours of the marked words, or of the rest."""
    return {
        (segment.style.color, segment.style.bgcolor)
        for strip in message.render_lines(message.size.region)
        for segment in strip
        if segment.style and bool(segment.style.underline) == found
    }


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("Needles and needle", ["needle"], ["Needle", "needle"]),
        ("ab abc", ["ab", "abc"], ["ab", "abc"]),
        ("100% of [b]it[/b] (a+b)", ["[b]", "(a+b)", "%"], ["%", "[b]", "(a+b)"]),
        ("a ␛[1m ␛[1m", ["\x1b[1m"], ["␛[1m", "␛[1m"]),
        ("Ärger, ärger", ["ÄRGER"], ["Ärger", "ärger"]),
        ("cafe\u0301 cafe", ["cafe"], ["cafe\u0301", "cafe"]),
        ("an 👩‍💻 and 👩", ["👩"], ["👩‍💻", "👩"]),
        ("nothing", ["hay", " "], []),
    ],
)
def test_whole_characters_are_marked_in_any_case(text: str, words: list[str], found: list[str]) -> None:
    assert [text[start:end] for start, end in places(text, words)] == found
    assert marked(text, *words) == found


async def test_found_words_are_marked_until_another_is_chosen(open_chat: OpenChat, tmp_path: Path) -> None:
    found = "\x1b[4m 日本 **needles** are\n\n`needles` \x02b"
    put(tmp_path, (chat("c1", "A Needle", leaf="a1"), [prompt("p1", "hay"), answer("a1", "p1", found)]))
    async with open_chat(size=(80, 24)) as opened:
        screen = await opened.reached(SessionsScreen, by="/sessions")
        await opened.press("slash", *"needle")
        options = screen.query_one(OptionList)

        def lines() -> list[Strip]:
            return [options.render_line(y) for y in range(2)]

        await opened.until(lambda: underlined(lines()) == ["Needle", "needle", "needle"])
        strips = lines()
        assert "␛[4m 日本" in strips[1].text and "␂b" in strips[1].text
        marks = [s for strip in strips for s in strip if s.style and s.style.underline]
        others = [s for strip in strips for s in strip if s.style and not s.style.underline]
        assert not {s.style.bgcolor for s in marks if s.style} & {s.style.bgcolor for s in others if s.style}
        await opened.until(lambda: bool(opened.app.chat.query(".-selected")), by=("s", "enter", "enter"))
        chosen = opened.app.chat.query_one(".-selected", Message)
        await opened.until(lambda: underlined(chosen.render_lines(chosen.size.region)) == ["needles"] * 2)
        assert len(colours(chosen, found=True)) == 1
        assert not colours(chosen, found=True) & colours(chosen, found=False)
        dark = colours(chosen, found=True)
        opened.app.theme = "textual-light"
        await opened.until(lambda: not colours(chosen, found=True) & dark)
        await opened.until(lambda: underlined(chosen.render_lines(chosen.size.region)) == [], by="up")


async def test_words_broken_over_two_lines_and_those_in_a_folded_thought_are_marked_and_in_view(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    hay, asked, thought, said = ("日本" * 600, "天狗と鬼" * 6, "雪女郎" * 8, "河童と狐" * 6)
    text = f"<think>{hay}{thought}</think>{hay}{said}{hay}"
    messages = [prompt("p1", f"{hay}{asked}{hay}"), answer("a1", "p1", text)]
    put(tmp_path, (chat("c1", "Old", leaf="a1"), messages))

    def marks() -> str:
        drawn = opened.app.screen._compositor.render_strips()
        return "".join(underlined([strip.crop(0, strip.cell_length - 2) for strip in drawn]))

    async with open_chat(size=(41, 20)) as opened:
        await opened.until(lambda: bool(opened.prompts), by="f7")
        for message, word in (("p1", asked), ("a1", said), ("a1", thought)):
            opened.app.chat.transcript.go_to(message, [word])
            await opened.until(lambda word=word: marks() == word)
