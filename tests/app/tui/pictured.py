"""Pictures of screens as the truth of tests: what the app draws beside what was looked at and accepted."""

import os
import re
from pathlib import Path

from app.tui.app import ChatApp

FOLDER = Path(__file__).parent / "pictured"
ACCEPT = "MLX_SPEC_ACCEPT_PICTURES"
"""Set, by `make pictures`: what is drawn now becomes the truth."""

_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_NUMBER = re.compile(r"terminal-\d+-")


def check_picture(app: ChatApp, name: str) -> None:
    """Compare the screen with its accepted picture; where they differ, leave the new one beside it."""
    svg = _picture(app)
    accepted, drawn = FOLDER / f"{name}.svg", FOLDER / f"{name}.new.svg"
    if ACCEPT in os.environ:
        FOLDER.mkdir(exist_ok=True)
        accepted.write_text(svg, "utf-8")
        drawn.unlink(missing_ok=True)
        return
    if accepted.exists() and accepted.read_text("utf-8") == svg:
        drawn.unlink(missing_ok=True)
        return
    drawn.write_text(svg, "utf-8")
    raise AssertionError(
        f"The screen is not the picture {accepted}. What is drawn now: {drawn}.\n"
        f"Look at both in a browser. If the new one is right: make pictures, and commit what changed."
        f"\n{_lines_that_differ(accepted, svg)}"
    )


def _picture(app: ChatApp) -> str:
    """Textual's picture without its web fonts and without the number it makes of the content."""
    svg = _NUMBER.sub("terminal-", _WEB_FONTS.sub("", app.export_screenshot(title="mlx-spec")))
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1).replace("Fira Code", "monospace")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _lines_that_differ(accepted: Path, svg: str) -> str:
    if not accepted.exists():
        return "There is no accepted picture yet."
    before, after = _text(accepted.read_text("utf-8")), _text(svg)
    changed = [f"- {a}\n+ {b}" for a, b in zip(before, after, strict=False) if a != b]
    return "\n".join(changed[:6]) or "The texts are the same: colours or places differ."


def _text(svg: str) -> list[str]:
    """The lines of a picture as they are read."""
    rows: dict[str, str] = {}
    for row, text in re.findall(r'<text [^>]*\by="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows[row] = rows.get(row, "") + text
    return [text.replace("&#160;", " ").strip() for text in rows.values()]
