"""Numbers as people read them."""

from app.shell.number_text import bar, counted
from models.time_text import time_text


def test_numbers_in_words_and_bars() -> None:
    assert [counted(n, "chat") for n in (0, 1, 1200)] == ["0 chats", "1 chat", "1,200 chats"]
    assert [time_text(seconds) for seconds in (40, 185, 7500)] == ["40 s", "3 min", "2.1 h"]
    assert bar(1, 3) == "█░░" and bar(5, 3) == "███"
