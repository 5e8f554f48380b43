"""Unexpected values after a command: typed, pasted, or entered by mistake."""

import os
from pathlib import Path


def odd_values(folder: Path) -> dict[str, str]:
    """Description to value; the files that values name are made in `folder`."""
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "locked").write_text("not yours")
    (folder / "locked").chmod(0)
    (folder / "bytes").write_bytes(b"\xff\xfe\x00\x01")
    (folder / "halves.json").write_text('{"format": "\\ud800", "version": ' + "9" * 5000 + "}")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "line.jsonl").write_text('{"id": 1}\n')
    (folder / "loop").symlink_to("loop")
    (folder / "two\nlines").write_text("text")
    return {
        "nothing": "",
        "blanks": "   \t ",
        "a word": "nonsense",
        "a number": "7",
        "zero": "0",
        "minus one": "-1",
        "a huge number": "9" * 40,
        "more digits than Python reads": "9" * 5000,
        "a range the wrong way": "length=5-2",
        "a range of everything": f"length=0-{10**9}",
        "no range at all": "length=-",
        "a fraction": "0.5",
        "a number of floats only": "1e999",
        "nan": "nan",
        "inf": "-inf",
        "an underscore in a number": "1_0",
        "hexadecimal": "0x10",
        "a small two": "²",
        "Arabic digits": "٣",
        "a code block of many digits": f"code {'9' * 5000}",
        "code block none": "code 0",
        "zero bytes": "a\0b",
        "zero bytes in a file": "json a\0b.json",
        "control characters": "\x01\x07\x08\x0b\x1f\x7f\x9b",
        "escape sequences": "\x1b[2J\x1b]0;owned\x07\x1b[31m",
        "half a character": "\ud800",
        "half a character in a name": "save \udcff",
        "half a character in a file": "json \udcff.json",
        "somebody else's home": "~nobody/x",
        "the home": "~",
        "nowhere": "/dev/null",
        "everything": "/dev/zero",
        "a terminal": "/dev/tty",
        "a pipe": str(folder / "pipe"),
        "a pipe to write to": f"json {folder / 'pipe'}",
        "a folder": str(folder / "folder"),
        "a file behind a file": str(folder / "bytes" / "x"),
        "a locked file": str(folder / "locked"),
        "bytes": str(folder / "bytes"),
        "halves of characters as JSON": str(folder / "halves.json"),
        "JSON too deep": str(folder / "deep.json"),
        "wrong prompts": str(folder / "line.jsonl"),
        "a link to itself": str(folder / "loop"),
        "a name of two lines": str(folder / "two\nlines"),
        "a very long name": "x" * 300,
        "a very long path": "/".join(["long" * 50] * 30),
        "a quote that does not close": '"half',
        "quotes": '""',
        "markup": "[bold]x[/] [/nothing] [@click=app.quit]y[/]",
        "a template": "{chat.stop} {0} %s $HOME `id`",
        "right to left": "שלום עולם \u202eabc\u202c مرحبا",
        "signs above signs": "z̷̢" * 50,
        "an emoji of parts": "👩‍💻🏳️‍🌈",
        "100 kB": "word " * 20_000,
        "100 kB without a blank": "w" * 100_000,
        "lines": "one\ntwo\r\nthree\u2028four\x85five",
        "SQL": "'; DROP TABLE chats; --",
        "a search": '" OR NEAR(* ^ %_\\',
        "a preset of no name": "save  ",
        "a preset of markup": "save [red]\n[/x]",
        "a preset of nobody": "delete nobody",
        "an option": "--help",
        "an empty field": "length= repeats=",
        "a field twice": "length=1 length=2 repeats=1",
        "many settings": "length=0-31,auto drafter=auto,model,lookup temperature=0,0.5,1",
        "another command": "/quit",
    }
