"""The HTTP client of the download process: every request has a time limit, and passing errors of the server
are waited for, which the Hub's library does for some requests only.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from httpx2 import Client, Request, Timeout
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils._http import default_client_factory

_T = TypeVar("_T")
_PASSING = (500, 502, 503, 504)
_WAITS = (1, 3, 9)
"""Seconds before the Hub is asked again after one of these."""


def limited_client() -> Client:
    client = default_client_factory()
    client.event_hooks = {**client.event_hooks, "request": [*client.event_hooks["request"], _limit]}
    return client


def _limit(request: Request) -> None:
    if not any(request.extensions["timeout"].values()):
        request.extensions["timeout"] = Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT).as_dict()


def ask_again(ask: Callable[[], _T]) -> _T:
    """Ask, and after a passing error again, once for each of `_WAITS`."""
    for seconds in _WAITS:
        try:
            return ask()
        except HfHubHTTPError as error:
            if error.response.status_code not in _PASSING:
                raise
            time.sleep(seconds)
    return ask()
