"""Control characters in foreign text are shown, never sent to the terminal."""

import json

import pytest

from app.shell.printable import json_text, one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone\x07", "\u241b[2Jgone\u2407"),
        ("\x9b31m\x7f", "\\x9b31m\u2421"),
        ("user\u202etxt.exe", "user\\u202etxt.exe"),
        ("half \ud83d!", "half \\ud83d!"),
        ("a\tb\nc 👩‍👩‍👧 é 漢", "a\tb\nc 👩‍👩‍👧 é 漢"),
    ],
    ids=["escape sequences", "eight-bit controls", "marks that reorder text", "half a character", "the rest"],
)
def test_what_a_terminal_would_obey_becomes_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_one_line_has_no_line_breaks() -> None:
    assert one_line("a\n b\r\nc") == "a b c"


def test_json_keeps_every_character_and_sends_no_control() -> None:
    text = "\x1b[0m\x9b\u202e漢\ud83d\x7f\n"
    shown = json_text({"text": text})
    assert json.loads(shown)["text"] == text
    assert shown == printable(shown)
    assert "漢" in shown
