"""A child process sends values, its death is reported, and it never outlives its parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.child import ChildDied, ask_child, module
from models.errors import BrokenFiles
from tests.waiting import until

SLEEPS = "open(folder + '/pid', 'w').write(str(os.getpid()))\nsend('begun')\ntime.sleep(60)\n"


def child(folder: Path, body: str) -> Sequence[str]:
    script = folder / "child.py"
    begin = "import os, sys, time\nfrom models.child import asked\n(folder,), send = asked()\n"
    script.write_text(begin + body)
    return sys.executable, str(script)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.startswith("Z")  # it has ended, but was not waited for


def values(folder: Path, body: str) -> list[object]:
    with ask_child(child(folder, body), str(folder)) as sent:
        return [value for value in sent if value is not None]


def test_values_arrive_whatever_is_printed_and_an_error_is_raised_as_it_was_sent(tmp_path: Path) -> None:
    sent = values(tmp_path, "print('noise')\nsend(1)\nsend({'a': (2, folder)})\n")
    assert sent == [1, {"a": (2, str(tmp_path))}]
    broken = "from models.errors import BrokenFiles\nfrom pathlib import Path\n"
    with pytest.raises(BrokenFiles, match="cut") as raised:
        values(tmp_path, f"{broken}send(BrokenFiles('cut', Path('a')))\n")
    assert raised.value.path == Path("a")


def test_a_child_that_dies_says_how_and_with_which_words(tmp_path: Path) -> None:
    with pytest.raises(ChildDied, match="exit status 3: it broke"):
        values(tmp_path, "send(1)\nprint('it broke', flush=True)\nos._exit(3)\n")
    with pytest.raises(ChildDied, match="signal 9: no reason given") as raised:
        values(tmp_path, "os.kill(os.getpid(), 9)\n")
    assert raised.value.code == -signal.SIGKILL


def test_a_child_ends_when_nobody_listens_any_more(tmp_path: Path) -> None:
    with pytest.raises(KeyError) as kept, ask_child(child(tmp_path, SLEEPS), str(tmp_path)) as sent:
        assert next(value for value in sent if value) == "begun"
        raise KeyError
    until(lambda: is_gone(int((tmp_path / "pid").read_text())))
    assert kept, "it held the frames meanwhile"


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    command = child(tmp_path, SLEEPS)
    begin = "from models.child import ask_child"
    parent = f"{begin}\nwith ask_child({command!r}, {str(tmp_path)!r}) as m: list(m)"
    with subprocess.Popen([sys.executable, "-c", parent]) as process:
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        process.kill()
    until(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_a_warning_that_quotes_what_a_model_wrote_stays_out_of_the_log() -> None:
    *python, _, _ = module("any")
    code = "import warnings; warnings.warn('a word', SyntaxWarning)"
    warned = subprocess.run([*python, "-c", code], capture_output=True, text=True)
    assert (warned.returncode, warned.stderr) == (0, "")
