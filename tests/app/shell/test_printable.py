"""Text of others is shown, never obeyed."""

import json

from app.shell.printable import json_text, one_line, printable


def test_escape_sequences_become_visible() -> None:
    assert printable("\x1b[2Jgone\x07") == "\u241b[2Jgone\u2407"


def test_eight_bit_controls_and_delete_become_visible() -> None:
    assert printable("\x9b31m\x7f") == "\\x9b31m\u2421"


def test_marks_that_reorder_text_become_visible() -> None:
    assert printable("user\u202etxt.exe") == "user\\u202etxt.exe"


def test_line_breaks_tabs_and_joined_emoji_stay() -> None:
    text = "a\tb\nc 👩‍👩‍👧 é 漢"
    assert printable(text) == text


def test_half_a_surrogate_pair_can_be_printed() -> None:
    printable("\ud83d!").encode()


def test_one_line_has_no_line_breaks() -> None:
    assert one_line("a\n b\r\nc") == "a b c"


def test_json_keeps_every_character_and_sends_no_control() -> None:
    text = "\x1b[0m\x9b\u202e漢\ud83d\x7f\n"
    shown = json_text({"text": text})
    assert json.loads(shown)["text"] == text
    assert shown == printable(shown)
    assert "漢" in shown
