"""A model's Markdown on a terminal: everything visible, nothing obeyed."""

from io import StringIO

import pytest
from rich.console import Console

from app.tui.widgets.markdown_text import markdown


def shown(text: str) -> str:
    out = StringIO()
    Console(file=out, width=80, force_terminal=True, color_system="truecolor").print(
        markdown(text, "monokai")
    )
    return out.getvalue()


@pytest.mark.parametrize(
    "text", ["<b>bold</b>", "<think>so</think>", "<div>block</div>", "[bold]x[/bold]", "[/x]"]
)
def test_tags_and_markup_are_text(text: str) -> None:
    assert text in shown(text)


def test_a_line_break_stays_a_line_break() -> None:
    assert [line.strip() for line in shown("one\ntwo").split("\n")][:2] == ["one", "two"]


def test_a_link_is_no_hyperlink_of_the_terminal_and_names_its_target() -> None:
    out = shown("[here](https://example.org/x)")
    assert "\x1b]8" not in out and "https://example.org/x" in out


@pytest.mark.parametrize("text", ["\x1b[2J", "`\x1b]52;c;eA==\x07`", "```\n\x1b[31m\n```", "# \x9b31m"])
def test_control_characters_become_signs_everywhere(text: str) -> None:
    out = shown(text)
    assert "\x1b[2J" not in out and "\x1b]52" not in out and "\x07" not in out and "\x9b" not in out
    assert "␛" in out or "\\x9b" in out
