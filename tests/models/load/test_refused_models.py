"""Models that could not be used are refused before their weights are fetched."""

from collections.abc import Callable
from pathlib import Path

import pytest

from models.errors import ModelsError
from tests.models.conftest import read_tokenizers_quickly
from tests.models.hub.pulling import last
from tests.models.hub_server import HubServer


def no_tokenizer(hub: HubServer, home: Path) -> None:
    for model in hub.models.values():
        model.files["tokenizer.json"] = b"{}"


def no_safetensors(hub: HubServer, home: Path) -> None:
    files = hub.models["org/target"].files
    files["model.Q4.gguf"] = files.pop("model.safetensors")


def an_unknown_architecture(hub: HubServer, home: Path) -> None:
    hub.models["org/target"].files["config.json"] = b'{"model_type": "telepathy"}'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (no_tokenizer, r"org/target cannot be used: The tokenizer in .* cannot be read"),
        (no_safetensors, r"holds no model\*\.safetensors \(it has model\.Q4\.gguf\)"),
        (an_unknown_architecture, "type 'telepathy', which mlx-lm does not know"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_before_its_weights(
    hub: HubServer,
    home: Path,
    change: Callable[[HubServer, Path], None],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change(hub, home)
    if change is no_safetensors:
        read_tokenizers_quickly(monkeypatch)

    with pytest.raises(ModelsError, match=message):
        last()

    assert "model.safetensors" not in hub.downloads()
