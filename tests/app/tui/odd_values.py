"""Unexpected values after a command: typed, pasted, or entered by mistake."""

import os
from pathlib import Path


def odd_values(folder: Path) -> list[str]:
    """The values; the files that some of them name are made in `folder`."""
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
    return [
        "", "   \t ", "nonsense", "7", "0", "-1", "9" * 40, "9" * 5000, "length=5-2", f"length=0-{10**9}",
        "length=-", "0.5", "1e999", "nan", "-inf", "1_0", "0x10", "²", "٣", f"code {'9' * 5000}", "code 0",
        "a\0b", "json a\0b.json", "\x01\x07\x08\x0b\x1f\x7f\x9b", "\x1b[2J\x1b]0;owned\x07\x1b[31m",
        "\ud800", "save \udcff", "json \udcff.json", "~nobody/x", "~", "/dev/null", "/dev/zero",
        "/dev/tty", str(folder / "pipe"), f"json {folder / 'pipe'}", str(folder / "folder"),
        str(folder / "bytes" / "x"), str(folder / "locked"), str(folder / "bytes"),
        str(folder / "halves.json"), str(folder / "deep.json"), str(folder / "line.jsonl"),
        str(folder / "loop"), str(folder / "two\nlines"), "x" * 300, "/".join(["long" * 50] * 30), '"half',
        '""', "[bold]x[/] [/nothing] [@click=app.quit]y[/]", "{chat.stop} {0} %s $HOME `id`",
        "שלום עולם \u202eabc\u202c مرحبا", "z̷̢" * 50, "👩‍💻🏳️‍🌈", "word " * 20_000, "w" * 100_000,
        "one\ntwo\r\nthree\u2028four\x85five", "'; DROP TABLE chats; --", '" OR NEAR(* ^ %_\\', "save  ",
        "save [red]\n[/x]", "delete nobody", "--help", "length= repeats=", "length=1 length=2 repeats=1",
        "length=0-31,auto drafter=auto,model,lookup temperature=0,0.5,1", "/quit",
    ]  # fmt: skip
