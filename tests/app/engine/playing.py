"""Plays an answer of a session, and checks that its events agree with each other."""

from app.engine.events import TextAdded, TurnEnded, text_of
from app.engine.protocol import Answer
from app.engine.session import Message, Session
from app.settings.options import AnswerOptions

USER: tuple[Message, ...] = ({"role": "user", "content": "hi"},)


def play(session: Session, **kwargs: object) -> tuple[list[TextAdded], TurnEnded]:
    """An answer's events; the pieces must add up to the text, and the last counts what the numbers do."""
    cancelled = kwargs.pop("cancelled", lambda: False)
    request = Answer(0, **{"prompt": USER, "options": AnswerOptions(), **kwargs})  # type: ignore[arg-type]
    events = list(session.answer(request, cancelled))  # type: ignore[arg-type]
    added, ended = [e for e in events if isinstance(e, TextAdded)], events[-1]
    assert isinstance(ended, TurnEnded)
    assert "".join(text_of(event.pieces) for event in added) == ended.text
    stats, played = ended.stats, [each for event in added for each in event.played]
    assert not added or added[-1].tokens == stats.tokens
    drafted, accepted = sum(len(each.drafted) for each in played), sum(each.accepted for each in played)
    assert not added or (drafted, accepted) == (stats.draft_n, stats.draft_n_accepted)
    return added, ended
