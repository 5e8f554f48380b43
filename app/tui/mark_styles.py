"""How marked tokens look: a colour each, and a second cue for eyes and terminals without colour."""

from app.events import Mark

MARK_CLASSES: dict[Mark, str] = {
    "accepted": "mark--accepted",
    "bonus": "mark--bonus",
    "plain": "mark--plain",
}
"""Component classes; chat.tcss gives accepted text an underline and bonus text weight."""
