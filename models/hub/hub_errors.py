"""What the Hub's library raises, in the user's words. Only the download process imports this."""

import errno
from json import JSONDecodeError

from httpx2 import ConnectError, HTTPError, InvalidURL, TimeoutException, UnsupportedProtocol
from huggingface_hub import constants, get_token
from huggingface_hub.errors import (
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from models.errors import (
    AccessNeeded,
    BadSource,
    DoesNotFit,
    DownloadFailed,
    MachineTrouble,
    ModelsError,
    RepositoryMissing,
    RevisionMissing,
)
from models.hub.endpoint import endpoint
from models.pairs.catalogue import near_repositories
from models.pairs.pair import Source

_AGAIN = "Pull again: what came is kept."


def explain(error: BaseException, source: Source) -> ModelsError:
    """The error to show for what happened while fetching this source."""
    chain = _chain(error)
    for link in chain:
        if isinstance(link, ModelsError):
            return link
    for link in chain:
        if said := _explain_one(link, source):
            return said
    return MachineTrouble(f"Downloading {source} failed: {type(error).__name__}: {_first_line(error)}")


def _explain_one(error: BaseException, source: Source) -> ModelsError | None:
    """None where this link of the chain says nothing."""
    if isinstance(error, HfHubHTTPError):
        return _explain_answer(error, source)
    if isinstance(error, OfflineModeIsEnabled):
        return DownloadFailed(
            f"{source} is not (all) on this machine, and offline mode is on. Unset HF_HUB_OFFLINE to pull it."
        )
    if isinstance(error, HFValidationError):
        return BadSource(f"{source} is no name of a Hub repository (org/name).")
    if isinstance(error, ConnectError):
        return DownloadFailed(f"No connection to {endpoint()}. Check the network, or HF_ENDPOINT.")
    if isinstance(error, TimeoutException):
        return DownloadFailed(f"{endpoint()} did not answer in time. {_AGAIN}")
    if isinstance(error, InvalidURL | UnsupportedProtocol):
        return DownloadFailed(f"No request can be sent to {endpoint()}. Check HF_ENDPOINT.")
    if isinstance(error, HTTPError) or "Consistency check failed" in str(error):
        return DownloadFailed(f"The connection broke while fetching {source}. {_AGAIN}")
    if isinstance(error, FileMetadataError | JSONDecodeError | KeyError):
        return DownloadFailed(f"{endpoint()} does not answer like the Hub. Check HF_ENDPOINT.")
    if isinstance(error, OSError):
        return _explain_disk(error)
    return None


def _explain_answer(error: HfHubHTTPError, source: Source) -> ModelsError:
    """The Hub answered, and not with what was asked for."""
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return _gated(source)
    if isinstance(error, RepositoryNotFoundError):
        near = near_repositories(source.repo)
        hint = (
            f"Did you mean {' or '.join(near)}?"
            if near
            else "Check the name; a private one needs `hf auth login`."
        )
        return RepositoryMissing(f"The Hub has no repository {source.repo}. {hint}")
    if isinstance(error, RevisionNotFoundError):
        return RevisionMissing(
            f"{source.repo} has no revision {source.revision}. Leave it out, or name another."
        )
    if status in (401, 403) and get_token():
        return AccessNeeded(
            f"The Hub refuses {source} (error {status}): your token is not accepted, or may not read it. "
            "Log in anew: `hf auth login`, or set another HF_TOKEN."
        )
    if status in (401, 403):
        return AccessNeeded(
            f"The Hub refuses {source} (error {status}). Log in: `hf auth login`, or set HF_TOKEN."
        )
    if status == 429:
        return DownloadFailed(
            "The Hub asks for fewer requests (error 429). Wait some minutes and pull again."
        )
    return DownloadFailed(f"{endpoint()} answers with error {status} for {source}. Try again later.")


def _gated(source: Source) -> AccessNeeded:
    page = f"{endpoint()}/{source.repo}"
    if get_token():
        return AccessNeeded(
            f"{source.repo} is gated and your token has no access yet: accept its terms at {page}."
        )
    return AccessNeeded(
        f"{source.repo} is gated: accept its terms at {page}, then run `hf auth login` or set HF_TOKEN."
    )


def _explain_disk(error: OSError) -> ModelsError | None:
    cache = constants.HF_HUB_CACHE
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DoesNotFit(f"The disk of {cache} is full. Free space, or set HF_HOME to another disk.")
    if error.errno is not None:
        return MachineTrouble(
            f"{error.filename or cache} cannot be read or written ({error.strerror}). Check HF_HOME."
        )
    return None


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what caused it, the outermost first."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links


def _first_line(error: BaseException) -> str:
    """Of what the error says; it may hold the address with its password."""
    said = str(error).replace(constants.ENDPOINT, endpoint())
    return (said.strip() or "no reason given").splitlines()[0]
