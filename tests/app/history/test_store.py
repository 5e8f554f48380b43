"""Chats on disk: saved, read back, found, undone, and safe from damaged files."""

import resource
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from app.history.database import MIGRATIONS
from app.history.records import Attachment, Preset, facts_from, message_value, options_from, pieces_of, read
from app.history.store import KEPT_SECONDS, PROMPTS, History
from app.history.tree import MessageTree
from app.history.unsent import Unsent, gave_back, keep_unsent, unsent
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput, MachineFailed
from mlx_spec.stats import Stats
from tests.app.history.some_chat import PIECES, ROUNDS, TEXT, answer, branching, chat, prompt
from tests.app.read_only import read_only


def titles(history: History, text: str) -> list[str]:
    return [row.chat.title for row in history.search(text)]


def test_what_is_saved_is_read_again_with_everything_known_about_it(history: History) -> None:
    saved = chat(system="be kind", options=AnswerOptions(temperature=0.5), drafting=False, leaf="a3")
    history.save([saved], branching())
    assert history.find("c") == saved
    messages = history.messages(saved)
    assert messages == branching()
    assert pieces_of(messages[1].text, messages[1].facts.marks) == PIECES  # type: ignore[union-attr]


def test_branches_are_kept_in_the_order_they_were_written(history: History) -> None:
    history.save([chat()], branching())
    tree = MessageTree(history.messages(chat()))
    assert [m.id for m in tree.path("a2")] == ["p1", "a2"]
    assert [m.id for m in tree.branches(tree["a1"])] == ["a1", "a2"]
    assert [m.id for m in tree.branches(tree["p2"])] == ["p1", "p2"]
    assert tree.end_of("p1") == "a2" and tree.end_of(None) == "a3"
    ring = MessageTree([prompt("a", "x", "b"), prompt("b", "y", "a")])
    assert [m.id for m in ring.path("a")] == ["b", "a"]


def test_messages_follow_their_parents_whatever_was_written_first(history: History) -> None:
    history.save([chat()], [answer("a2", "p2"), prompt("p2", "later", "a1")])
    history.save([chat()], [prompt("p1", "first"), answer("a1", "p1"), answer("lost", "gone")])
    tree = MessageTree(history.messages(history.find("c1")))
    assert [message.id for message in tree.path("a2")] == ["p1", "a1", "p2", "a2"]
    assert tree.end_of("p1") == "a2" and tree.branches(tree["p1"]) == [tree["p1"], tree["lost"]]


def test_all_chats_are_listed_and_found_the_newest_first_however_many(history: History) -> None:
    many = [f"c{n}" for n in range(501)]
    history.save([chat(name) for name in many], [prompt(f"p{name}", "x", chat_id=name) for name in many])
    found = history.search("title")
    assert [row.chat.id for row in history.chats()] == [row.chat.id for row in found] == many[::-1]


def test_search_finds_parts_of_words_in_any_script_and_takes_no_sign_as_syntax(history: History) -> None:
    texts = [prompt("p", 'a% "quoted" words AND (x'), answer("a", "p"), prompt("q", "Viel Ärger Über жук")]
    history.save([chat(), chat("c2", "Odd")], texts)
    words = ["decid", "TARGET decides", "日本 👩‍💻", "本", "e", '"', "a%", "title", "words AND", "(x"]
    for word in [*words, "ärger", "ÄRGER", "ü", "Ü", "ЖУК", "жу"]:
        assert titles(history, word) == ["A title"], word
        assert titles(history, f"{word} absent") == [], word


def test_a_whole_text_can_be_searched_for(history: History) -> None:
    numbers = [str(number) for number in range(2000)]  # short and long words, more than SQL takes conditions
    history.save([chat()], [prompt("p", " ".join(numbers))])
    assert titles(history, " ".join(reversed(numbers))) == ["A title"]
    assert titles(history, " ".join([*numbers, "2000"])) == titles(history, "x " * 2000) == []


def test_search_sees_a_text_as_it_is_now_and_shows_where(history: History) -> None:
    history.save([chat()], [answer("a", "p", "word " * 50 + "begun\n\tneedle " + "word " * 50)])
    (row,) = history.search("needle")
    assert row.hit == "a"
    assert "begun needle word" in row.excerpt and "\n" not in row.excerpt and len(row.excerpt) < 100
    history.save([chat()], [answer("a", "p", "replaced")])
    assert titles(history, "needle") == [] and titles(history, "replaced") == ["A title"]


def test_the_best_message_is_found_first_and_of_short_words_the_newest(history: History) -> None:
    texts = [prompt("p", "no needle" + " in the hay" * 50), prompt("q", "no needle", chat_id="c2")]
    history.save([chat("c1", "One"), chat("c2", "Two")], texts)
    assert titles(history, "needle") == titles(history, "no") == ["Two", "One"]


def test_a_chat_is_forgotten_with_the_last_of_its_messages(history: History) -> None:
    history.save([chat()], branching())
    for left in range(len(branching()))[::-1]:
        assert history.chats()
        history.forget(branching()[left])
    assert not history.chats()


def test_a_deleted_chat_is_nowhere_until_it_is_restored_and_gone_after_a_week(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.save([chat()], branching())
    history.delete("c1")
    assert history.chats() == [] and titles(history, "target") == [] and history.prompts() == []
    assert [row.deleted for row in history.chats(deleted=True)] == [True]
    history.restore("c1")
    assert history.messages(history.chats()[0].chat) == branching()
    history.delete("c1")
    history.purge()
    assert history.chats(deleted=True)
    monkeypatch.setattr("app.history.store.KEPT_SECONDS", -1)
    history.purge()
    assert history.chats(deleted=True) == []
    found = history.connection.execute("SELECT COUNT(*) FROM texts WHERE texts MATCH 'target'")
    assert found.fetchone() == (0,)


def test_what_was_deleted_under_a_wrong_clock_can_be_brought_back_for_a_week_from_then_on(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = 0.0
    monkeypatch.setattr("app.history.store.now", lambda: time)
    history.save([chat(changed=1.8e9)], branching())
    history.delete("c1")
    for time, is_kept in ((0.0, True), (1.9e9, True), (1.9e9 + KEPT_SECONDS + 1, False)):
        history.purge()
        assert bool(history.chats(deleted=True)) == is_kept, time


def test_saving_keeps_the_title_another_instance_gave_and_brings_a_deleted_chat_back(
    history: History, tmp_path: Path
) -> None:
    other = History(tmp_path / "data" / "history.db")
    history.save([chat()], [prompt("p1", "hello")])
    other.rename("c1", "Renamed")
    other.archive("c1", True)
    other.delete("c1")
    history.save([chat(changed=20.0)], [answer("a1", "p1")])
    other.save([chat("c2", "theirs")], [prompt("q", "hi", chat_id="c2")])
    (row,) = history.chats(archived=True)
    assert (row.chat.title, row.messages, row.pair) == ("Renamed", 2, "pair")
    assert [row.chat.title for row in history.chats()] == ["theirs"]
    other.close()


def test_prompts_come_back_oldest_first_each_once_sent_or_not(history: History) -> None:
    asked = [prompt(str(n), text) for n, text in enumerate(["one", "two", "one"])]
    history.save([chat()], asked)
    keep_unsent(history, [Unsent("left"), Unsent("one half")])
    history.save([chat()], [prompt("p2", "three", "0")])
    keep_unsent(history, [Unsent("last"), Unsent("", (Attachment("a", "only a file"),))])
    assert history.prompts() == ["two", "one", "left", "one half", "three", "last"]
    keep_unsent(history, [Unsent(f"new {n}") for n in range(PROMPTS)])
    history.purge()
    assert history.prompts(PROMPTS + 9)[:4] == ["two", "one", "three", "new 0"]


def test_a_chat_gets_back_once_what_was_not_sent_in_it(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.save([chat()], [prompt("p1", "one")])
    first, second = Unsent("first"), Unsent("second", (Attachment("a.md", "ü\x1b"),))
    never_saved = Unsent("in a chat never saved")
    keep_unsent(history, [first, second], "c1")
    keep_unsent(history, [never_saved], "c2")
    keep_unsent(history, [Unsent("of no chat")])
    assert unsent(history, "c1") == [first, second] and unsent(history, None) == [never_saved]
    gave_back(history, "c1")
    assert unsent(history, "c1") == [] and unsent(history, None) == [never_saved]
    gave_back(history, None)
    keep_unsent(history, [second], "c1")
    history.delete("c1")
    assert unsent(history, None) == []
    monkeypatch.setattr("app.history.store.KEPT_SECONDS", -1)
    history.purge()
    assert unsent(history, None) == []
    assert history.prompts() == ["first", "in a chat never saved", "of no chat", "second"]


def test_presets_are_kept_by_name(history: History) -> None:
    preset = Preset("terse", "Be brief.", AnswerOptions(temperature=0.2, top_k=40))
    history.save_preset(Preset("terse", "", AnswerOptions()))
    history.save_preset(preset)
    assert history.presets() == [preset]
    assert history.delete_preset("terse") and not history.delete_preset("terse")


def test_an_id_that_fits_none_or_several_is_refused(history: History) -> None:
    with pytest.raises(BadInput, match="list of chats is empty"):
        history.find("last")
    history.save([chat("ab1")], [])
    with pytest.raises(BadInput, match="No chat's id begins"):
        history.find("")
    history.save([chat("ab2", changed=11.0)], [])
    for name in ("x", "ab", "", "%", "_b1"):
        with pytest.raises(BadInput, match="id begins"):
            history.find(name)
    assert history.find("ab1").id == "ab1" and history.find("last").id == "ab2"


def test_the_file_is_the_owners_alone(history: History, tmp_path: Path) -> None:
    history.save([chat()], branching())
    folder = tmp_path / "data"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert history.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_a_file_of_every_older_version_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    path = tmp_path / "history.db"
    connection = sqlite3.connect(path)
    connection.executescript("".join(MIGRATIONS[:version]) + f"PRAGMA user_version = {version}")
    columns = "id, title, created, changed, system, options, drafting" + ", touched" * (version > 1)
    for chat_id, changed in (("old", 1.0), ("new", 2.0)) if version else ():
        values = (chat_id, chat_id, 0.0, changed, "", "{}", 1, changed)[: columns.count(",") + 1]
        marks = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO chats ({columns}) VALUES ({marks})", values)
    connection.commit()
    connection.close()
    path.chmod(0o644)
    history = History(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert history.connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    history.save([chat()], branching())
    assert [row.chat.id for row in history.chats()] == ["c1", "new", "old"][: 3 if version else 1]
    history.close()


def test_where_the_disk_is_full_another_folder_is_offered(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # the system refuses to write
    try:
        with pytest.raises(MachineFailed, match=r"MLX_SPEC_HOME names another folder\.$"):
            History(tmp_path / "history.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("lost", ["", "*-shm"])
def test_a_read_only_history_of_a_killed_program_has_its_last_changes_or_opens(lost: str, tmp_path: Path):
    History(tmp_path / "history.db").close()
    running = History(tmp_path / "history.db")
    running.save([chat()], [prompt("p", "hello")])
    left = shutil.copytree(tmp_path, tmp_path / "left", ignore=shutil.ignore_patterns(lost))
    running.close()
    with read_only(left):
        history = History(left / "history.db", to_read=True)
        assert history.refusal is not None
        assert [m.text for m in history.messages(chat())] == ([] if lost else ["hello"])
        history.close()


def test_a_newer_versions_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    History(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(MachineFailed, match="newer mlx-spec"):
        History(path)
    assert list(tmp_path.glob("*damaged*")) == []


def test_values_of_another_version_do_not_stop_a_chat_from_opening() -> None:
    assert options_from({"temperature": 0.5, "invented": 1}) == AnswerOptions(temperature=0.5)
    assert options_from({"temperature": 99}) == AnswerOptions() == options_from([])
    assert read(Stats, {"tokens": 3}) is None and read(Stats, None) is None
    assert "".join(piece.text for piece in pieces_of(TEXT, "a3z2b9999")) == TEXT


def test_rounds_of_a_version_without_trees_are_read() -> None:
    value = message_value(answer("a", "p"))
    value["rounds"] = [row[:-1] for row in value["rounds"]]
    assert facts_from(value)["rounds"] == ROUNDS


def test_chats_are_listed_by_the_time_that_is_shown(history: History) -> None:
    """Changed options and imports do not count as changes of the conversation."""
    history.save([chat("old", changed=10.0), chat("new", changed=20.0)], [])
    history.save([chat("old", changed=10.0, system="Be brief.")], [])
    listed = [(row.chat.id, row.chat.system) for row in history.chats()]
    assert listed == [("new", ""), ("old", "Be brief.")]
    times = {"newest": 30.0, "oldest": 5.0, "middle": 15.0, "as old": 15.0}
    history.add([chat(name, changed=time) for name, time in times.items()], [])
    newest, new, *middle, old, oldest = (row.chat.id for row in history.chats())
    assert (newest, new, {*middle}, old, oldest) == ("newest", "new", {"middle", "as old"}, "old", "oldest")
    history.save([chat("oldest", changed=4.0)], [prompt("p", "x", chat_id="oldest")])
    assert history.chats()[0].chat.id == "oldest", "changed last, by a clock that was set back"
    assert history.find("last").id == "oldest"


def test_options_set_in_a_window_that_has_not_seen_the_last_answer_keep_its_time(history: History) -> None:
    history.save([chat("shared", changed=20.0), chat("later", changed=30.0)], [])
    history.save([chat("shared", changed=10.0, drafting=False)], [])
    assert history.find("last").id == "later"
    assert history.find("shared") == chat("shared", changed=20.0, drafting=False)
