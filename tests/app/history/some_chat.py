"""Chats to save, for tests."""

from app.engine.events import DraftRound, Piece
from app.history.records import AnswerFacts, Attachment, Chat, ChatMessage, marks_of
from app.settings.options import AnswerOptions
from mlx_spec.stats import summarise
from mlx_spec.types import Round

PIECES = (Piece("The target", "accepted"), Piece(" decides", "bonus"), Piece(" 日本 👩‍💻.", "plain"))
TEXT = "".join(piece.text for piece in PIECES)
STATS = summarise([Round((1, 2), 1, (1, 5), "model", 0.5), Round((3,), 1, (3, 4), "lookup", 0.25)])
ROUNDS = (DraftRound("model", (" The", " of"), 1, " target", 0.5, 0.1, 0, 10),)


def chat(chat_id: str = "c1", title: str = "A title", changed: float = 10.0, **values: object) -> Chat:
    return Chat(chat_id, title, 1.0, changed, **values)  # type: ignore[arg-type]


def prompt(
    message_id: str, text: str, parent: str | None = None, *, chat_id: str = "c1", files: bool = False
) -> ChatMessage:
    attachments = (Attachment("notes.md", "a `code` and\n```\nfence\n```"),) if files else ()
    return ChatMessage(message_id, chat_id, parent, "user", text, 2.0, attachments)


def answer(message_id: str, parent: str, text: str = TEXT, *, chat_id: str = "c1") -> ChatMessage:
    facts = AnswerFacts(
        "pair", AnswerOptions(seed=7, temperature=0.5), "stop", STATS, marks_of(PIECES), ROUNDS
    )
    return ChatMessage(message_id, chat_id, parent, "assistant", text, 3.0, (), facts)


def branching() -> list[ChatMessage]:
    """A prompt with two answers, and an edited version of it with one."""
    return [
        prompt("p1", "first words", files=True),
        answer("a1", "p1"),
        answer("a2", "p1", "another answer"),
        prompt("p2", "other words"),
        answer("a3", "p2", "the third"),
    ]
