"""A real terminal for tests of the app: tmux, which sends the keys and gives the screen."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60


LONG = "Give me twenty examples of drafting."


def streams(shown: str) -> bool:
    """Whether the answer to LONG has begun to appear."""
    _, _, below = shown.partition(LONG)
    # The gauges of the answer in progress; before it begins they are empty.
    return "tok/s" in below


class Terminal:
    """A shell in the only window of its own tmux server. Ends with the `with` block."""

    def __init__(self, home: Path, width: int = 100, height: int = 30) -> None:
        self.home = home
        self._size = [str(width), str(height)]
        self._socket = str(home / "tmux")

    def __enter__(self) -> "Terminal":
        environment = os.environ | {
            "MLX_SPEC_HOME": str(self.home),
            "HF_HUB_CACHE": str(self.home / "hub"),
            "PYTHONPATH": str(ROOT),
            "PS1": "$ ",
            "TEXTUAL_ANIMATIONS": "none",
        }
        shell = shutil.which("bash") or "sh"
        subprocess.run(
            ["tmux", "-S", self._socket, "-f", os.devnull, "new-session", "-d", "-x", self._size[0],
             "-y", self._size[1], shell, "--norc", "--noprofile", "-i"],
            env=environment, check=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True)

    def start_app(self, *arguments: str, first: bool = False) -> None:
        """Open the chat in the shell, with its welcome if `first`; its exit code is printed at the end."""
        pair = [] if first else ["builtin"]
        command = shlex.join([sys.executable, "-m", "app", "chat", *pair, *arguments])
        self.send(f"{command}; echo ended with code $?")
        self.wait_for("Welcome to mlx-spec" if first else "● builtin")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def send(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def stream(self) -> None:
        """Send a prompt whose answer takes a second or more, and wait for its first words."""
        self.send(LONG)
        self.wait_until(streams, "streamed words")

    def quit_app(self) -> None:
        self.press("C-q")
        self.wait_for("ended with code 0")

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: `Enter`, `C-q`, `F5`."""
        self._tmux("send-keys", *keys)

    def paste(self, text: str) -> None:
        """A bracketed paste, as a terminal sends it to a program that asked for it."""
        (self.home / "pasted").write_text(text)
        self._tmux("load-buffer", str(self.home / "pasted"))
        self._tmux("paste-buffer", "-p")

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def record(self) -> Callable[[], str]:
        """All that programs write from now on, escape sequences included."""
        file = self.home / "written"
        self._tmux("pipe-pane", f"cat >{shlex.quote(str(file))}")
        return lambda: file.read_text("utf-8", "replace") if file.exists() else ""

    def screen(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def wait_for(self, *texts: str, gone: str = "", by: str = "") -> None:
        """Press a key, if given, and wait until the screen shows all of these, and no longer `gone`."""
        if by:
            self.press(by)
        self.wait_until(
            lambda shown: all(text in shown for text in texts) and not (gone and gone in shown),
            f"{texts} without '{gone}'",
        )

    def wait_until(self, holds: Callable[[str], bool], what: str) -> None:
        """Wait for a condition on the screen."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds(shown := self.screen()):
            assert time.monotonic() < end, f"no {what} in:\n{shown}"
            time.sleep(0.1)

    def close(self) -> None:
        """Close the window, as a person does: the program in it gets SIGHUP."""
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


def saved(home: Path) -> list[dict[str, Any]]:
    """The messages of the only chat in the history."""
    environment = os.environ | {"MLX_SPEC_HOME": str(home), "PYTHONPATH": str(ROOT)}

    def history(*arguments: str) -> Any:
        command = [sys.executable, "-m", "app", "history", *arguments]
        return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)

    (chat,) = history("list", "--json")["chats"]
    (whole,) = history("show", chat["id"], "--json")["chats"]
    return whole["messages"]


def pids_of(home: Path) -> dict[int, str]:
    """Our processes with this home, with their command lines."""
    found: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"MLX_SPEC_HOME={home}\0" in (entry / "environ").read_text():
                command = (entry / "cmdline").read_text().replace("\0", " ")
                if " -m app" in command or "models.hub.download_child" in command:
                    found[int(entry.name)] = command
        except (OSError, UnicodeDecodeError):
            continue
    return found
