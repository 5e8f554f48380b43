"""The Hub's address, as `HF_ENDPOINT` has it.

Read here and not there, because importing huggingface_hub fails where the address is malformed.
"""

import os
import re
from urllib.parse import urlsplit

from models.errors import MachineTrouble

_DEFAULT = "https://huggingface.co"


def endpoint() -> str:
    """The address to show: without a password that may be in it."""
    return re.sub(r"^(\w+://)?.*@", r"\1***@", os.environ.get("HF_ENDPOINT", _DEFAULT).rstrip("/"))


def is_web_address() -> bool:
    """Whether a request could be sent there."""
    try:
        parts = urlsplit(os.environ.get("HF_ENDPOINT", _DEFAULT))
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_endpoint() -> None:
    """Refuse an address that no request can be sent to.

    Raises:
        MachineTrouble: HF_ENDPOINT is no web address.
    """
    if not is_web_address():
        raise MachineTrouble(
            f"HF_ENDPOINT is '{endpoint()}', which is no web address. "
            f"Unset it, or set it to one like {_DEFAULT}."
        )
