"""Models that could not be used are refused before their weights are fetched."""

from pathlib import Path

import pytest

from models.errors import BadChoice, BrokenFiles
from tests.models.hub.pulling import last
from tests.models.hub_server import HubServer
from tests.models.tiny_models import files_of, make_tokenizer


def test_tokenizers_that_do_not_fit_are_refused_before_any_weights(hub: HubServer, home: Path) -> None:
    make_tokenizer(home / "made/draft", text=("entirely other words " * 30,))
    hub.models["org/draft"].files = files_of(home / "made/draft")

    with pytest.raises(BadChoice, match=r"id \d+ is .* to the target and .* to the draft"):
        last()

    assert "model.safetensors" not in hub.downloads()


def test_a_tokenizer_that_cannot_be_read_is_refused_before_any_weights(hub: HubServer) -> None:
    for model in hub.models.values():
        model.files["tokenizer.json"] = b"{}"

    with pytest.raises(BrokenFiles, match=r"org/target cannot be used: The tokenizer in .* cannot be read"):
        last()

    assert "model.safetensors" not in hub.downloads()


@pytest.mark.usefixtures("quick_tokenizers")
def test_a_repository_without_safetensors_is_refused(hub: HubServer) -> None:
    files = hub.models["org/target"].files
    files["model.Q4.gguf"] = files.pop("model.safetensors")

    with pytest.raises(BadChoice, match=r"holds no model\*\.safetensors \(it has model\.Q4\.gguf\)"):
        last()

    assert hub.downloads() == []


def test_a_model_that_cannot_run_is_refused_before_its_weights(hub: HubServer) -> None:
    hub.models["org/target"].files["config.json"] = b'{"model_type": "telepathy"}'

    with pytest.raises(BadChoice, match="type 'telepathy', which mlx-lm does not know"):
        last()

    assert "model.safetensors" not in hub.downloads()
