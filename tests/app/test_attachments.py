"""The files that can be attached to a prompt, and the messages for others."""

from pathlib import Path

import pytest

from app.chat.attachments import attach, mentioned, mistyped, unmarked
from app.shell.errors import BadInput


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        ("folder", "is a folder"),
        ("naïve".encode("latin-1"), "not UTF-8 text"),
        (b" \n", "is empty"),
        (b"word " * 2000, "about 2,500 tokens; the pair's context holds 1,000"),
        (b"x" * (4 * 2**20 + 1), "is larger than 4 MB"),
    ],
)
def test_a_file_that_cannot_be_read_as_text_is_refused_with_the_reason(
    tmp_path: Path, content: bytes | str | None, said: str
) -> None:
    path = tmp_path / "file"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(BadInput, match=said):
        attach(path, 1000)


def test_the_folder_of_a_user_that_does_not_exist_is_a_folder_that_does_not_exist() -> None:
    with pytest.raises(BadInput, match="There is no file ~nobody-has-this-name/x"):
        attach(Path("~nobody-has-this-name/x"), None)
    assert mentioned("@~nobody-has-this-name/x") == [Path("~nobody-has-this-name/x")]


def test_a_text_is_read_whole_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "ü.md"
    path.write_text("\ufeff# naïve\r\n\x1b[31m 漢字", "utf-8", newline="")
    attached = attach(path, 4)
    assert (attached.name, attached.text) == ("ü.md", "# naïve\n\x1b[31m 漢字")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the folder that this process is in."""
    monkeypatch.chdir(tmp_path)
    for name in ("a b.txt", "c.py", "odd.py?"):
        (tmp_path / name).write_text("x")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            'see @c.py and @"a b.txt", not me@c.py nor @decorator or @c.py; but @sub/missing.txt',
            ["c.py", "a b.txt", "sub/missing.txt"],
        ),
        ("what is in @c.py?", ["c.py"]),
        ("see @c.py, then (so) @c.py.", ["c.py"]),
        ("what is in @odd.py?", ["odd.py?"]),
        ("see @sub/gone.txt.", ["sub/gone.txt"]),
        (
            '@"no such/one of them.txt" but s = @"Hello, world!"; s = @"C:\\a.txt"',
            ["no such/one of them.txt"],
        ),
        ("wait @... or @?", []),
        ("@" + 300 * "a", []),
        ('@app.route("/users") and npm i @types/node and @Get("/a.b")', []),
    ],
)
def test_only_what_names_a_file_is_a_mention_without_the_sentences_signs_behind_it(
    text: str, names: list[str]
) -> None:
    assert mentioned(text) == list(map(Path, names))


@pytest.mark.usefixtures("files")
def test_a_name_like_a_files_that_names_none_is_found() -> None:
    assert mistyped("see @notse.md? and @c.py, @decorator, me@x.org, @sub/gone.txt") == ["notse.md"]
    assert mistyped('see @"a b.txt", @"no such file" and @"sub/no such.txt"') == ["no such file"]


@pytest.mark.parametrize("written", ['"a b.md"', "'a b.md'", '@"a b.md"', "a b.md"])
def test_a_command_takes_a_path_with_blanks_in_quotes_or_without(written: str) -> None:
    assert unmarked(written) == "a b.md"
    assert unmarked(f"json {written}") == "json a b.md"


def test_apostrophes_in_a_path_are_its_own() -> None:
    assert unmarked("Ann's and Bob's.md") == "Ann's and Bob's.md"
