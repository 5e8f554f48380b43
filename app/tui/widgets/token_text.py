"""Single tokens and rounds as they are shown: blanks and line breaks visible, nothing obeyed."""

from textual.content import Content

from app.engine.events import DraftRound
from app.shell.counted import counted
from app.shell.printable import printable

STOOD = "$text-success underline"
FELL = "$text-error"
OWN = "$text-warning italic"

_SIGNS = str.maketrans({" ": "·", "\n": "↵", "\t": "⇥"})


def token_text(token: str) -> str:
    """A token in one line, its blanks seen; `∅` for one that has no text."""
    return printable(token.translate(_SIGNS)) or "∅"


def round_text(played: DraftRound) -> Content:
    """The draft token by token (`✗` before those that fell), then what the target said."""
    parts: list[Content] = []
    for place, token in enumerate(played.drafted):
        stood = place < played.accepted
        parts.append(
            Content.styled(token_text(token) if stood else f"✗{token_text(token)}", STOOD if stood else FELL)
        )
    if played.own:
        own = Content.styled(token_text(played.own), OWN if played.drafted else "")
        parts.append(Content.assemble("→ ", own) if played.drafted else own)
    return Content(" ").join(parts)


def round_sentence(played: DraftRound) -> str:
    """What happened in the round, in words."""
    said = f"‘{token_text(played.own)}’" if played.own else ""
    if not played.drafted:
        told = f"No draft: the target wrote {said}"
    else:
        count = len(played.drafted)
        told = f"{printable(played.drafter)} drafted {counted(count, 'token')}, {_right(played)}"
        if played.accepted < count and said:
            told += f"; instead of ‘{token_text(played.drafted[played.accepted])}’ the target said {said}"
        elif said:
            told += f"; then the target said {said}"
    time = f"{played.seconds * 1000:.1f} ms"
    if played.draft_seconds is not None:
        time += f", {played.draft_seconds * 1000:.1f} of them drafting"
    return f"{told}. {time}."


def _right(played: DraftRound) -> str:
    if played.accepted == len(played.drafted):
        return "all right" if played.accepted > 1 else "right"
    return f"the first {played.accepted} right" if played.accepted else "none right"
