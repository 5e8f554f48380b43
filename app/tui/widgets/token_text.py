"""Tokens and rounds as text: blanks, line breaks and control characters become visible signs."""

from textual.content import Content

from app.engine.events import DraftRound
from app.shell.number_text import counted
from app.shell.printable import printable

ACCEPTED, OWN = "$text-success underline", "$text-warning italic"
"""Styles with second cues beside colour: underline, slant."""
REJECTED = "$text-error"

_SIGNS = str.maketrans({" ": "·", "\n": "↵", "\t": "⇥"})


def token_text(token: str) -> str:
    """A token in one line, its blanks visible; `∅` for one that has no text."""
    return printable(token.translate(_SIGNS)) or "∅"


def round_text(played: DraftRound) -> Content:
    drafted = list(map(token_text, played.drafted))
    parts = [Content.styled(token, ACCEPTED) for token in drafted[: played.accepted]]
    parts += [Content.styled(f"✗{token}", REJECTED) for token in drafted[played.accepted :]]
    if played.own:
        own = Content.styled(token_text(played.own), OWN if drafted else "")
        parts.append(Content.assemble("→ ", own) if drafted else own)
    return Content(" ").join(parts)


def round_sentence(played: DraftRound) -> str:
    own = f"‘{token_text(played.own)}’" if played.own else ""
    count = len(played.drafted)
    if not count:
        text = f"No draft: the target wrote {own}"
    else:
        depth = played.tree_depth
        draft = counted(count, "token") if depth is None else f"a tree of {count}, {depth} deep"
        text = f"{printable(played.drafter)} drafted {draft}, {_accepted(played)}"
        if own and depth is None and played.accepted < count:
            text += f"; instead of ‘{token_text(played.drafted[played.accepted])}’ the target wrote {own}"
        elif own:
            text += f"; then the target wrote {own}"
    time = f"{played.seconds * 1000:.1f} ms"
    if played.draft_seconds is not None:
        time += f", {played.draft_seconds * 1000:.1f} of them drafting"
    return f"{text}. {time}."


def _accepted(played: DraftRound) -> str:
    if played.accepted == len(played.drafted):
        return "all accepted" if played.accepted > 1 else "accepted"
    return f"{played.accepted or 'none'} accepted"
