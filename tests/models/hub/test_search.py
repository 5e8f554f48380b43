"""Searching the Hub, through its own library, at a server on this machine."""

from collections.abc import Iterator

import pytest

from models.errors import MachineTrouble
from models.hub import search_child
from models.hub.search import FoundModel, search
from tests.models.hub_server import HostedModel, HubServer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    models = {
        "mlx-community/Qwen3-8B-4bit": HostedModel(
            {},
            tags=("mlx", "license:apache-2.0"),
            downloads=7,
            parameters={"U32": 1_000_000, "BF16": 500_000},
        ),
        "org/Qwen3-8B-again": HostedModel({}, downloads=900, gated=True),
        "org/qwen3-in-torch": HostedModel({}, tags=("pytorch",), downloads=10_000),
        "org/other": HostedModel({}, downloads=5),
    }
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with HubServer(models) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_models_with_mlx_weights_are_found_with_what_the_hub_says_of_them(hub: HubServer) -> None:
    assert search("qwen3 8b") == [
        FoundModel("org/Qwen3-8B-again", 0, "", 900, True),
        FoundModel("mlx-community/Qwen3-8B-4bit", 5_000_000, "apache-2.0", 7, False),
    ]
    assert search("nothing like it") == []


def test_a_hub_that_refuses_is_not_there_or_answers_nonsense_is_told_in_a_sentence(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.status = 429
    with pytest.raises(MachineTrouble, match="asks for fewer requests"):
        search("qwen")
    hub.status, hub.page = None, b"<html>Sign in</html>"
    with pytest.raises(MachineTrouble, match="does not answer like the Hub"):
        search("qwen")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(MachineTrouble, match="No connection to"):
        search("qwen")


def test_no_message_of_a_search_speaks_of_a_download(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Exception] = []
    monkeypatch.setattr(search_child, "asked", lambda: (("qwen",), sent.append))
    monkeypatch.setattr(search_child, "_SECONDS", 0.2)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    hub.silent = "/api/models"
    search_child.main()
    assert str(sent[0]) == f"{hub.url} did not answer in time. Search again."

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MachineTrouble, match="^Offline mode is on. Unset HF_HUB_OFFLINE to search the Hub.$"):
        search("qwen")


@pytest.mark.parametrize(
    "model", ['{"id": null}', '{"id": "a/b", "downloads": "many"}', '{"id": "a/b", "tags": [1]}']
)
def test_a_model_without_a_name_or_with_odd_numbers_is_told_in_a_sentence(hub: HubServer, model: str) -> None:
    hub.page = f"[{model}]".encode()
    with pytest.raises(MachineTrouble, match="does not answer like the Hub"):
        search("qwen")
