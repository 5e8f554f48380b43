"""A text in the person's own editor."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported

from app.shell.errors import BadInput


def edited(app: App[None], text: str) -> str:
    """The text after `$VISUAL` or `$EDITOR` was left.

    Raises:
        BadInput: there is no editor, it failed, or it cannot run here.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise BadInput("No editor is named. Set EDITOR, for example: export EDITOR=nano")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompt.md"
        file.write_text(text, "utf-8")
        try:
            with app.suspend():
                code = subprocess.call([*shlex.split(command), str(file)])
        except SuspendNotSupported as error:
            raise BadInput("An editor cannot run in this terminal.") from error
        except (OSError, ValueError) as error:
            raise BadInput(f"The editor '{command}' cannot be started: {error}.") from error
        if code != 0:
            raise BadInput(f"The editor '{command}' ended with exit code {code}; the prompt is as it was.")
        return file.read_text("utf-8", "replace").rstrip("\n")
