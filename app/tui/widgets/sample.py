"""Three lines of text, marked like a growing answer, that explain the marks."""

from functools import cache

from textual.content import Content

from app.tui.widgets.token_text import ACCEPTED, OWN


@cache  # drawn several times at each start
def sample() -> Content:
    return Content.from_markup(f"""\
[{ACCEPTED}]A small model guesses[/][{OWN}] ahead[/]; [{ACCEPTED}]what the large one[/]
[{ACCEPTED}]would have written[/][{OWN}] itself[/] [{ACCEPTED}]is accepted[/][{OWN}],[/]
[{ACCEPTED}]and the rest is[/][{OWN}] its own.[/] Word for word the same.""")
