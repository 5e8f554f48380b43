"""Models that could not be used are refused before their weights are fetched."""

from collections.abc import Callable

import pytest

from models.errors import ModelsError
from tests.models.conftest import read_tokenizers_quickly
from tests.models.hub.pulling import last
from tests.models.hub_server import HubServer


def no_tokenizer(hub: HubServer) -> None:
    for model in hub.models.values():
        model.files["tokenizer.json"] = b"{}"


def no_safetensors(hub: HubServer) -> None:
    files = hub.models["org/target"].files
    files["model.Q4.gguf"] = files.pop("model.safetensors")


def an_unknown_architecture(hub: HubServer) -> None:
    hub.models["org/target"].files["config.json"] = b'{"model_type": "telepathy"}'


def a_draft_without_tokenizer(hub: HubServer) -> None:
    del hub.models["org/draft"].files["tokenizer.json"]


def a_drafter_of_an_unknown_family(hub: HubServer) -> None:
    hub.models["org/draft"].files["config.json"] = b'{"speculators_model_type": "hydra"}'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (a_draft_without_tokenizer, "org/draft holds no tokenizer.json"),
        (a_drafter_of_an_unknown_family, "org/draft holds a drafter of the family hydra, which this version"),
        (no_tokenizer, r"org/target cannot be used: The tokenizer in .* cannot be read"),
        (no_safetensors, r"holds no model\*\.safetensors \(it has model\.Q4\.gguf\)"),
        (an_unknown_architecture, "type 'telepathy', which mlx-lm does not know"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_before_its_weights(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, change: Callable[[HubServer], None], message: str
) -> None:
    change(hub)
    if change is not an_unknown_architecture:  # mlx-lm, which knows them, needs the real transformers
        read_tokenizers_quickly(monkeypatch)
    with pytest.raises(ModelsError, match=message):
        last()

    assert "model.safetensors" not in hub.downloads()
