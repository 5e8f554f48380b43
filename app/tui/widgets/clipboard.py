"""Copying: pbcopy on macOS, whose Terminal ignores the escape sequence the others understand."""

import subprocess
import sys
from typing import Any

from textual.app import App


def copy(app: App[Any], text: str) -> None:
    """Put text on the clipboard."""
    if sys.platform == "darwin":
        subprocess.run(["/usr/bin/pbcopy"], input=text.encode(), check=False)
    app.copy_to_clipboard(text)
