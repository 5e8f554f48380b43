"""The HTTP client of the download process: every request has a time limit, and passing errors of the server
are waited for, which the Hub's library does for some requests only. Where the Hub asks for fewer requests,
the library waits as long as it says; how long is noted here.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from httpx2 import Client, Headers, Request, Response, Timeout
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils._http import default_client_factory, parse_ratelimit_headers

FEWER_REQUESTS = 429
_T = TypeVar("_T")
_PASSING = (500, 502, 503, 504)
_WAITS = (1, 3, 9)
"""Seconds before the Hub is asked again after one of these."""
_wait_ends = 0.0


def limited_client() -> Client:
    client = default_client_factory()
    hooks = client.event_hooks
    client.event_hooks = {
        "request": [*hooks["request"], _limit],
        "response": [*hooks["response"], _note_wait],
    }
    return client


def wanted_wait(headers: Headers) -> int | None:
    """For how many seconds the Hub wants no more requests; None if it does not say."""
    limit, seconds = parse_ratelimit_headers(headers), headers.get("Retry-After", "")
    if seconds.isascii() and seconds.isdecimal():
        return int(seconds)
    return limit.reset_in_seconds if limit else None


def seconds_to_wait() -> float:
    """What is left of the last wait that the Hub asked for."""
    return max(_wait_ends - time.monotonic(), 0.0)


def _note_wait(response: Response) -> None:
    global _wait_ends
    if response.status_code == FEWER_REQUESTS:
        _wait_ends = time.monotonic() + (wanted_wait(response.headers) or 0)


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
