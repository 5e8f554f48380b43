"""What the disk damages in the history costs no more than it must."""

from pathlib import Path

import pytest

from app.history.records import Preset
from app.history.store import History
from app.history.unsent import Unsent, keep_unsent, unsent
from app.settings.options import AnswerOptions
from tests.app.history.some_chat import TEXT, answer, branching, chat, prompt


def test_a_file_with_a_broken_page_is_kept_aside_and_a_new_one_begins(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    history = History(path)
    history.save([chat()], [prompt(str(n), "some text " * 50) for n in range(50)])
    history.close()
    content = path.read_bytes()
    middle = len(content) // 2
    broken = content[:middle] + b"\xff" * 8192 + content[middle + 8192 :]
    path.write_bytes(broken)
    history = History(path)
    assert history.chats() == []
    history.save([chat()], branching())
    assert history.set_aside is not None and history.set_aside.read_bytes() == broken
    history.close()


DAMAGE = (
    "UPDATE chats SET options = '{\"see' WHERE id = 'c2'",
    "UPDATE messages SET attachments = '[{\"nbme\": 1}]', stats = '{', rounds = '[[' WHERE chat = 'c2'",
    "UPDATE messages SET text = CAST(x'68ff69' AS TEXT) WHERE chat = 'c2'",
    "UPDATE chats SET title = title || CAST(x'ff' AS TEXT) WHERE id = 'c2'",
    "UPDATE presets SET options = CAST(x'ff' AS TEXT)",
    "UPDATE unsent SET attachments = '['",
)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_value_costs_itself_and_no_chat(history: History, damage: str) -> None:
    """Bytes of values have no checksum: SQLite finds nothing wrong."""
    history.save([chat(), chat("c2")], [*branching(), prompt("p", "x", chat_id="c2", files=True)])
    history.save([], [answer("a", "p", chat_id="c2")])
    history.save_preset(Preset("calm", "", AnswerOptions()))
    keep_unsent(history, [Unsent("half")], "c2")
    history.connection.execute(damage)
    assert {row.chat.id for row in history.chats()} == {"c1", "c2"}
    assert history.messages(chat()) == branching()
    assert {one.text for one in history.messages(chat("c2"))} in ({"x", TEXT}, {"h\ufffdi"})
    assert history.answers().keys() == {"c1", "c2"}
    assert history.presets() == [Preset("calm", "", AnswerOptions())]
    assert unsent(history, "c2") == [Unsent("half")]
    assert {row.chat.id for row in history.search("t")} == {"c1", "c2"}


def test_a_table_damaged_beyond_the_words_of_the_message_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    History(path).close()
    path.write_bytes(
        path.read_bytes().replace(b"CREATE TRIGGER message_added", b"CREATE TR\xc3GGER message_added")
    )
    history = History(path)
    assert history.set_aside is not None and history.chats() == []
    history.close()
