"""Compares pictures of screens, as the app draws them, with accepted ones."""

import os
import re
import time
from itertools import zip_longest
from pathlib import Path

from app.tui.app import ChatApp
from tests.app.tui.chat_driver import Chat

FOLDER = Path(__file__).parent / "pictured"
ACCEPT = "MLX_SPEC_ACCEPT_PICTURES"
"""Set by `make pictures`: the pictures drawn now become the accepted ones."""

PATIENCE_SECONDS = 60
SETTLING_SECONDS = 1.0

_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_NUMBER = re.compile(r"terminal-\d+-")


async def check_picture(chat: Chat, name: str) -> None:
    """Wait for the screen to become its accepted picture; if it does not, leave the new one beside it."""
    for area in chat.app.screen.query("TextArea, Input"):
        area.set_reactive(type(area).cursor_blink, False)  # type: ignore[attr-defined]
    chat.app.chat.view.show()
    accepted, drawn = FOLDER / f"{name}.svg", FOLDER / f"{name}.new.svg"
    if ACCEPT in os.environ:
        await chat.pilot.pause(SETTLING_SECONDS)
        accepted.write_text(picture(chat.app), "utf-8")
        return
    known = accepted.read_text("utf-8") if accepted.exists() else ""
    end = time.monotonic() + PATIENCE_SECONDS
    while (svg := picture(chat.app)) != known and time.monotonic() < end:
        await chat.pilot.pause(0.05)
    if svg == known:
        return
    drawn.write_text(svg, "utf-8")
    raise AssertionError(
        f"The screen is not the picture {accepted}. What is drawn now: {drawn}.\n"
        f"Look at both in a browser. If the new one is right: make pictures, and commit what changed."
        f"\n{_lines_that_differ(known, svg)}"
    )


def picture(app: ChatApp, font: str = "monospace") -> str:
    """Textual's picture, without its web fonts and the number it computes from the content."""
    svg = _NUMBER.sub("terminal-", _WEB_FONTS.sub("", app.export_screenshot(title="mlx-spec")))
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1).replace("Fira Code", font)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _lines_that_differ(known: str, svg: str) -> str:
    changed = [f"- {a}\n+ {b}" for a, b in zip_longest(_text(known), _text(svg), fillvalue="") if a != b]
    return "\n".join(changed[:6]) or "The texts are the same: colours or places differ."


def _text(svg: str) -> list[str]:
    """The lines of text in a picture."""
    rows: dict[str, str] = {}
    for row, text in re.findall(r'<text [^>]*\by="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows[row] = rows.get(row, "") + text
    return [text.replace("&#160;", " ").strip() for text in rows.values()]
