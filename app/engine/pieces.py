"""Marked text in pieces: neighbours with the same mark are one piece."""

from collections.abc import Iterable

from app.engine.events import Piece


def append(pieces: list[Piece], piece: Piece) -> None:
    """Put a piece at the end; it joins the last one where their marks are the same."""
    if pieces and pieces[-1].mark == piece.mark:
        piece = Piece(pieces.pop().text + piece.text, piece.mark)
    pieces.append(piece)


def merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbours with the same mark joined."""
    out: list[Piece] = []
    for piece in pieces:
        append(out, piece)
    return tuple(out)


def text_of(pieces: Iterable[Piece]) -> str:
    """The text without its marks."""
    return "".join(piece.text for piece in pieces)
