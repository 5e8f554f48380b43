"""The Hub library's errors as messages for the user. Only the Hub's child processes import this."""

from json import JSONDecodeError
from urllib.request import getproxies

from httpx2 import URL, ConnectError, HTTPError, InvalidURL, ProxyError, TimeoutException, UnsupportedProtocol
from huggingface_hub import constants, get_token
from huggingface_hub.errors import (
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from models.errors import BadSource, MachineTrouble, ModelsError, is_full_disk
from models.hub.client import FEWER_REQUESTS, wanted_wait
from models.hub.endpoint import endpoint
from models.pairs.catalogue import near_repositories
from models.pairs.pair import Source
from models.paths import cache_variable, hub_cache
from models.time_text import time_text

_AGAIN = "Pull again: the downloaded part is kept."


def explain(error: BaseException, source: Source, again: str = _AGAIN) -> ModelsError:
    """The error to show for one raised while fetching this source; `again`: what to do if it may pass."""
    if isinstance(error, ModelsError):
        return error
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, HfHubHTTPError):
            return _explain_answer(link, source, again)
        if message := _explain_one(link, source, again):
            return MachineTrouble(message)
        link = link.__cause__ or link.__context__
    text = str(error).replace(constants.ENDPOINT, endpoint()).strip() or "no reason given"
    return MachineTrouble(f"Downloading {source} failed: {type(error).__name__}: {text.splitlines()[0]}")


def _explain_one(error: BaseException, source: Source, again: str) -> str:
    """The message for one error of the chain; empty if it explains nothing."""
    if isinstance(error, OfflineModeIsEnabled):
        return f"{source} is not (all) on this machine, and offline mode is on. Unset HF_HUB_OFFLINE to pull."
    if isinstance(error, ConnectError):
        proxy = ", the proxy" if getproxies() else ""
        return f"No connection to {endpoint()}. Check the network{proxy}, or HF_ENDPOINT."
    if isinstance(error, ProxyError):
        return f"The proxy to {endpoint()} refuses: {error}. Check HTTPS_PROXY, and its user and password."
    if isinstance(error, TimeoutException):
        return f"{endpoint()} did not answer in time. {again}"
    if isinstance(error, InvalidURL | UnsupportedProtocol):
        return f"No request can be sent to {endpoint()}. Check HF_ENDPOINT."
    if isinstance(error, HTTPError):
        return f"The connection broke while fetching {source}. {again}"
    if isinstance(error, UnicodeEncodeError):
        return "The Hub's token has characters that no token has. `hf auth login`, or set another HF_TOKEN."
    if isinstance(error, FileMetadataError | JSONDecodeError | KeyError | TypeError | AttributeError):
        return f"{endpoint()} does not answer like the Hub. Check HF_ENDPOINT."
    if isinstance(error, OSError) and is_full_disk(error):
        return f"The disk of {hub_cache()} is full. Free space, or set {cache_variable()} to another disk."
    if isinstance(error, OSError) and error.errno is not None:
        place = error.filename or hub_cache()
        return f"{place} cannot be read or written ({error.strerror}). Check {cache_variable()}."
    return ""


def _explain_answer(error: HfHubHTTPError, source: Source, again: str) -> ModelsError:
    """The error for an HTTP error status."""
    if isinstance(error, RevisionNotFoundError) and source.revision is None:
        return MachineTrouble(
            f"{source.repo} has no branch main, or it has just changed. Pull again, or name a revision: "
            f"{source.repo}@REVISION."
        )
    if isinstance(error, RevisionNotFoundError):
        return BadSource(f"{source.repo} has no revision {source.revision}. Leave it out, or name another.")
    # With a token, 401 is about the token (a missing repository is 404); without one, it may be either.
    about_token = isinstance(error, GatedRepoError) or (error.response.status_code == 401 and get_token())
    if isinstance(error, RepositoryNotFoundError) and not about_token:
        near = " or ".join(near_repositories(source.repo))
        hint = f"Did you mean {near}?" if near else "Check the name; a private one needs `hf auth login`."
        return BadSource(f"The Hub has no repository {source.repo}. {hint}")
    return MachineTrouble(_refusal(error, source, again))


def _refusal(error: HfHubHTTPError, source: Source, again: str) -> str:
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        page = f"{endpoint()}/{source.repo}"
        if get_token():
            return f"{source.repo} is gated and your token has no access yet: accept its terms at {page}."
        return f"{source.repo} is gated: accept its terms at {page}, then `hf auth login` or set HF_TOKEN."
    if status == FEWER_REQUESTS:
        seconds = wanted_wait(error.response.headers)
        wait = "some minutes" if seconds is None else time_text(seconds)
        return f"The Hub asks for fewer requests (error 429). Wait {wait}, then try again."
    host = error.response.url.host
    if host != URL(constants.ENDPOINT).host:  # the Hub sent us there, with a permit in the address
        return (
            f"{host}, where the Hub keeps the files of {source}, answers with error {status}. {again} "
            "If this goes on, ask your administrator whether the network or proxy blocks this address."
        )
    if status in (401, 403):
        why = ": your token is not accepted, or may not read it. Log in anew" if get_token() else ". Log in"
        return f"The Hub refuses {source} (error {status}){why}: `hf auth login`, or set another HF_TOKEN."
    return f"{endpoint()} answers with error {status} for {source}. Try again later."
