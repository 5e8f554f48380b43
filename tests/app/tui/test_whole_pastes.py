"""A paste sent by a terminal is read as one paste, however the reads are cut."""

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from app.tui.terminal.whole_pastes import WholePastes

BEGIN, END = "\x1b[200~", "\x1b[201~"
HOSTILE = ["esc \x1b[31m red\rline 2\r", "\x1b", "\x1b\x1b[20", "\x1b[200~ again", "\x1b[I\x1b[48;1;2;3;4t",
           "", "a" * 500, "nul\0"]  # fmt: skip


def heard(*reads: str) -> list[str]:
    """Keys by their names, pastes in quotes."""
    parser, events = WholePastes(), list[str]()
    for read in reads:
        for event in parser.feed(read):
            assert isinstance(event, Key | Paste), event
            events.append(event.key if isinstance(event, Key) else repr(event.text))
    return events


@pytest.mark.parametrize("text", HOSTILE)
def test_escapes_in_a_pasted_text_become_signs_and_no_keys(text: str) -> None:
    sent, pasted = (
        f"a{BEGIN}{text}{END}b\x1b[A",
        ["a", repr(text.replace("\x1b", "␛").replace("\0", "")), "b", "up"],
    )
    assert heard(sent) == pasted
    for cut in range(1, min(len(sent), 40)):
        assert heard(sent[:cut], sent[cut:]) == pasted
    assert heard(*sent) == pasted


def test_two_pastes_and_keys_in_one_read_are_told_apart() -> None:
    assert heard(f"{BEGIN}one\x1b[A{END}\x1b[A{BEGIN}two{END}\r") == ["'one␛[A'", "up", "'two'", "enter"]


def test_alt_and_enter_of_a_terminal_without_kittys_protocol_are_one_key_that_sends_no_half_prompt() -> None:
    assert heard("a\x1b\rb\r") == ["a", "alt+enter", "b", "enter"]


def test_textuals_slow_parser_reads_the_marks_of_a_paste_only(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[str] = []
    monkeypatch.setattr(XTermParser, "feed", lambda _, data: fed.append(data) or ())
    assert not [*WholePastes().feed(f"a{BEGIN}{'x' * 100}{END}b")]
    assert fed == [f"a{BEGIN}{END}b"]
