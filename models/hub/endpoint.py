"""The Hub's address, from `HF_ENDPOINT`, and its time limits.

Read here because importing huggingface_hub fails if one of them is malformed.
"""

import os
import re
from urllib.parse import urlsplit

from models.errors import MachineTrouble

_DEFAULT = "https://huggingface.co"
_TIMEOUTS = ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT")


def endpoint() -> str:
    """The address to show, without user name and password."""
    return re.sub(r"^(\w+://)?.*@", r"\1***@", os.environ.get("HF_ENDPOINT", _DEFAULT).rstrip("/"))


def wrong_variable() -> tuple[str, str, str] | None:
    """A variable with which the Hub's library does not work: its name, what is wrong, and a right value."""
    if not _is_web_address():
        return "HF_ENDPOINT", f"'{endpoint()}', which is not a web address", _DEFAULT
    for name in _TIMEOUTS:
        if not _is_seconds(value := os.environ.get(name, "10")):
            return name, f"'{value}', which is not a whole number of seconds", "10"
    return None


def check_variables() -> None:
    """Raise MachineTrouble for a `wrong_variable`: importing the library, as loading does, would fail."""
    if wrong := wrong_variable():
        name, what, right = wrong
        raise MachineTrouble(f"{name} is {what}. Unset it, or set it to one like {right}.")


def _is_web_address() -> bool:
    try:
        parts = urlsplit(os.environ.get("HF_ENDPOINT", _DEFAULT))
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_seconds(text: str) -> bool:
    try:
        return int(text) >= 0
    except ValueError:
        return False
