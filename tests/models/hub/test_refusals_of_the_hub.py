"""Errors of the Hub, and a Hub that cannot be reached: reported with what to do."""

import json
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from httpx2 import ProxyError, ReadTimeout

from models.errors import BadChoice, BadSource, MachineTrouble, NotInstalled
from models.hub import download_child
from models.hub.download_child import Job
from models.hub.endpoint import endpoint
from models.pairs.installed import installed, installed_folder
from models.pairs.pair import PairSpec, Source
from tests.models.hub.pulling import SPEC, last
from tests.models.hub_server import HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Source("mlx-community/Qwen3-8B-4bits"), "Did you mean mlx-community/Qwen3-8B-4bit"),
        (Source("mlx-community/Qwen3-8B-4bit"), "has no repository mlx-community/Qwen3-8B-4bit. Check the"),
        (Source("org/target", "v9"), "org/target has no revision v9"),
    ],
    ids=["typo", "gone", "revision"],
)
def test_what_the_hub_does_not_have_is_named(hub: HubServer, target: Source, message: str) -> None:
    with pytest.raises(BadSource, match=message):
        last(PairSpec("missing", target, None))


def test_a_gated_repository_names_its_page_and_opens_with_a_token(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.models["org/target"].gated, hub.models["org/target"].token = True, "hf_good"
    with pytest.raises(MachineTrouble, match=rf"{hub.url}/org/target.*hf auth login.*HF_TOKEN"):
        last()
    assert not installed(SPEC)

    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(MachineTrouble, match="your token has no access"):
        last()

    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert last().phase == "done"


def test_a_branch_that_is_not_there_or_moves_while_it_is_pulled_is_told(hub: HubServer) -> None:
    hub.models["org/target"].commits = {"trunk": "3" * 40}
    with pytest.raises(
        MachineTrouble, match="org/target has no branch main, or it has just changed. Pull again"
    ):
        last()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": 401}, "token is not accepted.*hf auth login"),
        (
            {"status": 401, "headers": {"X-Error-Code": "RepoNotFound"}},
            "token is not accepted.*hf auth login",
        ),
        ({"status": 500}, "answers with error 500"),
        ({"page": b"<html>Sign in to continue</html>"}, "does not answer like the Hub. Check HF_ENDPOINT"),
        ({"page": b"[]"}, "does not answer like the Hub. Check HF_ENDPOINT"),
    ],
)
def test_what_the_hub_answers_instead_is_reported(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any], message: str
) -> None:
    vars(hub).update(fault)
    monkeypatch.setenv("HF_TOKEN", "hf_old")

    with pytest.raises(MachineTrouble, match=message):
        last()


@pytest.mark.parametrize("commit", ["../../../etc", "/etc", "a\0b", "a b", "main"])
def test_a_commit_that_is_no_checksum_names_no_folder_here(hub: HubServer, home: Path, commit: str) -> None:
    hub.models["org/target"].commits = {"main": commit}
    with pytest.raises(MachineTrouble, match="does not answer like the Hub. Check HF_ENDPOINT"):
        last()
    assert not [*home.rglob("*org--target*")]


def test_a_token_that_was_copied_with_its_quotation_marks_is_told(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "\N{LEFT DOUBLE QUOTATION MARK}hf_x")
    with pytest.raises(
        MachineTrouble, match="token has characters that no token has. .* set another HF_TOKEN"
    ):
        last()


@pytest.mark.parametrize("status", [403, 503])
def test_a_host_of_files_that_refuses_is_named_and_no_login_is_asked_for(hub: HubServer, status: int) -> None:
    hub.far_status = status
    with pytest.raises(MachineTrouble, match=f"^localhost, .* error {status}. Pull again") as raised:
        last()
    assert "og in" not in str(raised.value)

    hub.far_status = None
    assert last().phase == "done"


@pytest.mark.parametrize("place", ["/revision/", "/tree/"])
def test_a_hub_that_never_answers_is_not_waited_for_without_end(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("HF_HUB_DOWNLOAD_TIMEOUT", "1")
    hub.silent = place
    with pytest.raises(MachineTrouble, match=f"^{hub.url} did not answer in time. Pull again"):
        last()

    hub.silent = None
    assert last().phase == "done"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "120"}, "2 min"),
        ({"RateLimit": '"api";r=0;t=55'}, "55 s"),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "some minutes"),
        ({}, "some minutes"),
    ],
)
def test_how_long_the_hub_wants_no_more_requests_is_told(
    hub: HubServer, headers: dict[str, str], wait: str
) -> None:
    hub.status, hub.headers = 429, headers
    with pytest.raises(MachineTrouble, match=rf"fewer requests \(error 429\). Wait {wait}, then try again"):
        last()


def test_a_pull_says_how_long_the_hub_wants_it_to_wait_before_the_rest_of_a_file(hub: HubServer) -> None:
    hub.far_status, hub.far_errors, hub.headers = 429, 1, {"Retry-After": "600"}
    end = last()
    assert end.phase == "done" and 500 < end.wait_seconds <= 600


def test_a_proxy_is_named_where_nothing_answers(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(MachineTrouble, match=f"No connection to {hub.url}. Check the network, the proxy, or"):
        last()


@pytest.mark.parametrize("place", ["/no/where", "/no/where.gguf"])
@pytest.mark.usefixtures("home", "quick_tokenizers")
def test_a_pull_of_a_pair_whose_folder_or_file_is_gone_says_so(place: str) -> None:
    with pytest.raises(NotInstalled, match=f"^{place} is not there. Put it back, or remove the pair"):
        last(PairSpec("mine", Source(place), None))


def test_a_full_disk_is_foretold(hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in hub.models.values():
        model.announced_sizes["model.safetensors"] = 10**15

    with pytest.raises(MachineTrouble, match=r"takes 2000000\.\d GB, and .* are free.* or set HF_HOME to"):
        last()
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "cache"))
    with pytest.raises(MachineTrouble, match="or set HF_HUB_CACHE to another disk"):
        last()

    assert hub.downloads() == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(ENOSPC, "No space left on device"),
         "^The disk of .*hub is full. Free space, or set HF_HOME"),
        (PermissionError(13, "Permission denied", "/x"),
         r"^/x cannot be read or written \(Permission denied\)"),
        (ProxyError("407 Proxy Authentication Required"), "^The proxy to .* refuses: 407 Proxy Auth"),
        (ReadTimeout("slow"), "did not answer in time. Pull again: the downloaded part is kept"),
        (ArithmeticError("odd"), "^Downloading org/target failed: ArithmeticError: odd"),
    ],
)  # fmt: skip
def test_an_error_while_downloading_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(download_child, "ask_hub", fail)
    job = Job([SPEC.target])
    job.work("pull")
    with pytest.raises(MachineTrouble, match=message):
        raise job.error or AssertionError

    monkeypatch.setattr(Job, "_ask", fail)
    job.work("pull")
    assert str(job.error).startswith(f"Downloading failed: {type(error).__name__}: ")


def test_offline_mode_without_the_files_is_reported(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(MachineTrouble, match="offline mode is on"):
        last()

    assert hub.requests == []


@pytest.mark.parametrize(
    "address",
    ["notaurl", "ftp://x", "http://", "", "https://[::1", "http://127.0.0.1:99999", "http://x:port"],
)
def test_an_endpoint_that_is_no_web_address_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    with pytest.raises(MachineTrouble, match="HF_ENDPOINT is '.*', which is not a web address. Unset it"):
        last()


@pytest.mark.parametrize("name", ["HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"])
@pytest.mark.parametrize("seconds", ["", "1.5", "ten", "-1"])
def test_a_time_limit_that_the_hubs_library_cannot_read_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, seconds: str
) -> None:
    monkeypatch.setenv(name, seconds)

    with pytest.raises(
        MachineTrouble, match=f"{name} is '{seconds}', which is not a whole number of seconds. Unset"
    ):
        last()


def test_an_endpoint_that_no_request_can_be_sent_to_is_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://a\x01b")

    with pytest.raises(MachineTrouble, match="No request can be sent to .* Check HF_ENDPOINT"):
        last()


def test_a_password_in_the_endpoint_is_not_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("http://me:secret@127.0.0.1:9", "http://me:s/ecret@x", "me:secret@x"):
        monkeypatch.setenv("HF_ENDPOINT", address)
        assert endpoint() == f"{address.partition('me')[0]}***@{address.rpartition('@')[2]}"

    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@127.0.0.1:9")
    with pytest.raises(MachineTrouble, match=r"No connection to http://\*\*\*@127\.0\.0\.1:9") as raised:
        last()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "quantized by bitsandbytes"),
        ({"speculators_model_type": "eagle"}, "family EAGLE-1, which cannot be loaded"),
    ],
)
def test_a_repository_that_was_refused_is_refused_again_and_no_pull_is_said_to_help(
    hub: HubServer, config: dict[str, Any], message: str
) -> None:
    files = hub.models["org/draft"].files
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | config).encode()
    for _ in range(2):
        with pytest.raises(BadChoice, match=f"org/draft .*{message}"):
            last()
    with pytest.raises(BadChoice, match=f"org/draft .*{message}"):
        installed_folder(Source("org/draft"), SPEC)
