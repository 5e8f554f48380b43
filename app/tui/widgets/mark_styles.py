"""How marked tokens look: a colour each, and a second cue for eyes and terminals without colour."""

from app.engine.events import Mark, Piece

MARK_CLASSES: dict[Mark, str] = {
    "accepted": "mark--accepted",
    "bonus": "mark--bonus",
    "plain": "mark--plain",
}
"""Component classes; chat.tcss gives accepted text an underline and slants bonus text."""


def runs(piece: Piece) -> list[tuple[str, Mark]]:
    """The piece as texts to draw: blanks at its borders are not underlined with it."""
    word = piece.text.strip(" ")
    start = piece.text.index(word)
    parts: list[tuple[str, Mark]] = [
        (piece.text[:start], "plain"),
        (word, piece.mark),
        (piece.text[start + len(word) :], "plain"),
    ]
    return [(text, mark) for text, mark in parts if text]
