"""Numbers of things in words."""

from app.shell.number_text import counted


def test_one_thing_is_said_without_an_s() -> None:
    assert [counted(n, "chat") for n in (0, 1, 1200)] == ["0 chats", "1 chat", "1,200 chats"]
