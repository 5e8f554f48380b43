"""The Hub's address, from `HF_ENDPOINT`.

Read here because importing huggingface_hub fails if the address is malformed.
"""

import os
import re
from urllib.parse import urlsplit

from models.errors import MachineTrouble

_DEFAULT = "https://huggingface.co"


def endpoint() -> str:
    """The address to show, without user name and password."""
    return re.sub(r"^(\w+://)?.*@", r"\1***@", os.environ.get("HF_ENDPOINT", _DEFAULT).rstrip("/"))


def is_web_address() -> bool:
    try:
        parts = urlsplit(os.environ.get("HF_ENDPOINT", _DEFAULT))
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_endpoint() -> None:
    """Raise MachineTrouble if HF_ENDPOINT is not a web address."""
    if not is_web_address():
        raise MachineTrouble(
            f"HF_ENDPOINT is '{endpoint()}', which is no web address. "
            f"Unset it, or set it to one like {_DEFAULT}."
        )
