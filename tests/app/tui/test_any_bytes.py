"""Input that is no UTF-8 does not end the program."""

import os
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from textual.drivers import linux_driver
from textual.events import Key

from app.tui.terminal.any_bytes import read_any_bytes


@pytest.mark.parametrize(
    ("sent", "read"),
    [(b"h\xe9llo.", "h�llo."), (b"\xff\xfe\x80.", "���."), ("é你.".encode(), "é你.")],
    ids=["Latin-1", "no encoding", "UTF-8"],
)
def test_each_byte_that_is_no_utf_8_is_read_as_a_replacement_character(
    sent: bytes, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux_driver, "getincrementaldecoder", None)
    read_any_bytes()
    ours, terminals = os.pipe()
    ended, found = Event(), list[str]()

    def took(event: Key) -> None:
        found.append(event.character or "")
        if event.character == ".":
            ended.set()

    driver: Any = SimpleNamespace(fileno=ours, exit_event=ended, process_message=took, _debug=False)
    os.write(terminals, sent)
    linux_driver.LinuxDriver.run_input_thread(driver)
    assert "".join(found) == read
    os.close(ours)
    os.close(terminals)
