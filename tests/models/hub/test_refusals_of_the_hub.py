"""What the Hub refuses, and a Hub that cannot be reached: said in words, with what to do."""

from pathlib import Path

import pytest

from models.errors import (
    AccessNeeded,
    DoesNotFit,
    DownloadFailed,
    RepositoryMissing,
    RevisionMissing,
)
from models.pairs.installed import installed
from models.pairs.pair import PairSpec, Source
from tests.models.hub.pulling import SPEC, last
from tests.models.hub_server import HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


def test_a_missing_repository_is_named_with_a_near_one(hub: HubServer) -> None:
    spec = PairSpec("typo", Source("mlx-community/Qwen3-8B-4bits"), None)

    with pytest.raises(RepositoryMissing, match="Did you mean mlx-community/Qwen3-8B-4bit"):
        last(spec)


def test_a_missing_repository_of_the_catalogue_is_not_offered_in_its_own_place(hub: HubServer) -> None:
    with pytest.raises(RepositoryMissing, match="has no repository mlx-community/Qwen3-8B-4bit. Check the"):
        last(PairSpec("gone", Source("mlx-community/Qwen3-8B-4bit"), None))


def test_a_missing_revision_is_named(hub: HubServer) -> None:
    with pytest.raises(RevisionMissing, match="org/target has no revision v9"):
        last(PairSpec("tiny", Source("org/target", "v9"), None))


def test_a_gated_repository_names_the_page_and_how_to_log_in(hub: HubServer) -> None:
    hub.models["org/target"].gated = True

    with pytest.raises(AccessNeeded, match=rf"{hub.url}/org/target.*hf auth login.*HF_TOKEN"):
        last()

    assert not installed(SPEC)


def test_a_gated_repository_opens_with_a_token(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.models["org/target"].gated, hub.models["org/target"].token = True, "hf_good"

    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(AccessNeeded, match="your token has no access"):
        last()

    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert last().phase == "done"


def test_a_refused_token_is_said_with_how_to_get_another(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.status = 401
    monkeypatch.setenv("HF_TOKEN", "hf_old")

    with pytest.raises(AccessNeeded, match="token is not accepted.*hf auth login"):
        last()


def test_a_full_disk_is_foretold(hub: HubServer) -> None:
    hub.models["org/target"].announced_sizes["model.safetensors"] = 10**15
    hub.models["org/draft"].announced_sizes["model.safetensors"] = 10**15

    with pytest.raises(DoesNotFit, match=r"takes 2000000\.\d GB, and .* are free"):
        last()

    assert hub.downloads() == []


def test_offline_mode_without_the_files_is_said(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(DownloadFailed, match="offline mode is on"):
        last()

    assert hub.requests == []


def test_no_connection_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    with pytest.raises(DownloadFailed, match=r"No connection to http://127\.0\.0\.1:9"):
        last()


def test_an_error_of_the_hub_is_said(hub: HubServer) -> None:
    hub.status = 500

    with pytest.raises(DownloadFailed, match="answers with error 500"):
        last()


@pytest.mark.parametrize("page", [b"<html>Sign in to continue</html>", b"{}"])
def test_a_page_in_place_of_the_hub_is_said(hub: HubServer, page: bytes) -> None:
    hub.page = page

    with pytest.raises(DownloadFailed, match=rf"{hub.url} does not answer like the Hub. Check HF_ENDPOINT"):
        last()


@pytest.mark.parametrize(
    "address",
    ["notaurl", "ftp://x", "http://", "", "https://[::1", "http://127.0.0.1:99999", "http://x:port"],
)
def test_an_endpoint_that_is_no_web_address_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    with pytest.raises(DownloadFailed, match="HF_ENDPOINT is '.*', which is no web address. Unset it"):
        last()


def test_an_endpoint_that_no_request_can_be_sent_to_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://a\x01b")

    with pytest.raises(DownloadFailed, match="No request can be sent to .* Check HF_ENDPOINT"):
        last()


@pytest.mark.parametrize("address", ["http://me:secret@127.0.0.1:9", "http://me:s/ecret@x", "me:secret@x"])
def test_a_password_in_the_endpoint_is_not_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    with pytest.raises(DownloadFailed, match=r"\*\*\*@") as raised:
        last()

    assert "ecret" not in str(raised.value)
