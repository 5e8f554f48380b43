"""Three lines as an answer is marked while it grows, which say what the marks mean."""

from textual.content import Content

from app.tui.widgets.token_text import ACCEPTED, OWN


def sample() -> Content:
    lines = [
        Content.assemble(
            ("A small model guesses", ACCEPTED), (" ahead", OWN), ("; ", ""), ("what the large one", ACCEPTED)
        ),
        Content.assemble(
            ("would have written", ACCEPTED),
            (" itself", OWN),
            (" ", ""),
            ("is accepted", ACCEPTED),
            (",", OWN),
        ),
        Content.assemble(("and the rest is", ACCEPTED), (" its own.", OWN), (" Word for word the same.", "")),
    ]
    return Content("\n").join(lines)
