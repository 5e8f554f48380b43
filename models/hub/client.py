"""The HTTP client of the download process: every request has a time limit, which the Hub's library gives to
some only.
"""

from httpx2 import Client, Request, Timeout
from huggingface_hub import constants
from huggingface_hub.utils._http import default_client_factory


def limited_client() -> Client:
    client = default_client_factory()
    client.event_hooks = {**client.event_hooks, "request": [*client.event_hooks["request"], _limit]}
    return client


def _limit(request: Request) -> None:
    if not any(request.extensions["timeout"].values()):
        request.extensions["timeout"] = Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT).as_dict()
