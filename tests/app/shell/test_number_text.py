"""Numbers as people read them."""

from datetime import datetime, timedelta

from app.shell.number_text import answer_figures, bar, counted, day_group, rate_text, when_text
from mlx_spec.stats import summarise
from mlx_spec.types import Round
from models.time_text import time_text


def test_numbers_in_words_and_bars() -> None:
    assert [counted(n, "chat") for n in (0, 1, 1200)] == ["0 chats", "1 chat", "1,200 chats"]
    assert [time_text(seconds) for seconds in (40, 185, 7500)] == ["40 s", "3 min", "2.1 h"]
    assert bar(1, 3) == "█░░" and bar(5, 3) == "███"
    assert [rate_text(rate) for rate in (9.94, 9.96)] == ["9.9", "10"]
    waits = (answer_figures(summarise([Round((), 0, (1,), "none", wait)])) for wait in (0.9994, 0.9996))
    assert [wait for *_, wait in waits] == ["first token 999 ms", "first token 1.0 s"]


def test_a_time_tells_its_day_without_the_heading_of_its_group() -> None:
    now = datetime(2026, 11, 23, 12)
    for days, group, shown in (
        (-1, "Today", "24 Nov"), (0, "Today", "12:00"), (1, "Yesterday", "Sun 12:00"),
        (2, "Last 7 days", "Sat 12:00"), (6, "Last 7 days", "Tue 12:00"), (7, "Last 7 days", "16 Nov"),
        (8, "Last 30 days", "15 Nov"), (30, "Last 30 days", "24 Oct"), (31, "October", "23 Oct"),
        (365, "2025", "23 Nov 2025"),
    ):  # fmt: skip
        then, at = (now - timedelta(days)).timestamp(), now.timestamp()
        assert (day_group(then, at), when_text(then, at)) == (group, shown)
