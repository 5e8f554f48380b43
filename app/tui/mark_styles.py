"""How marked tokens look: a colour each, and a second cue for eyes and terminals without colour."""

from app.events import Mark, Piece

MARK_CLASSES: dict[Mark, str] = {
    "accepted": "mark--accepted",
    "bonus": "mark--bonus",
    "plain": "mark--plain",
}
"""Component classes; chat.tcss gives accepted text an underline and slants bonus text."""


def runs(piece: Piece) -> list[tuple[str, Mark]]:
    """The piece as texts to draw: a token's leading blank is not underlined with it."""
    word = piece.text.lstrip(" ")
    blank = piece.text[: len(piece.text) - len(word)]
    return [(text, mark) for text, mark in ((blank, "plain"), (word, piece.mark)) if text]
