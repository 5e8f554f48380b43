"""Models that could not be used are refused before their weights are fetched."""

import json

import pytest

from models.errors import BadChoice, ModelsError
from models.load.configuration import check_architecture
from models.load.engine import load
from models.pairs.folder import INDEX
from models.pairs.pair import PairSpec, Source
from tests.models.hub.pulling import last
from tests.models.hub_server import HubServer

CODE = b'{"model_type": "llama", "model_file": "mine.py"}'
PACKED = b'{"model_type": "qwen3", "quantization_config": {"quant_method": "%s"}}'
HYDRA = b'{"speculators_model_type": "hydra"}'


@pytest.mark.parametrize(
    ("target", "draft", "message"),
    [
        ({}, {"tokenizer.json": None}, "org/draft holds no tokenizer.json"),
        ({}, {"tokenizer.json": None, "config.json": b'{"model_type": "mlp_speculator"}'},
         r"org/draft .* its config.json \(mlp_speculator\) tells no kind of drafter that needs none"),
        ({}, {"config.json": HYDRA}, "org/draft holds a drafter of the family hydra, which cannot be loaded"),
        ({"tokenizer.json": b"{}"}, {"tokenizer.json": b"{}"},
         r"cannot be used: The tokenizer in .*target.* cannot be read .*\. Choose others\.$"),
        ({}, {"tokenizer.json": b"{}"}, r"The tokenizer in .*draft.* cannot be read .* Choose others"),
        ({"config.json": b"[]"}, {}, r"config.json in .*target.* .it holds no JSON object.* Choose others"),
        ({}, {INDEX: b'{"weight_map": {"a": "model-2.safetensors"}}'},
         "org--draft/.* is incomplete: .* first model-2.safetensors. Choose others"),
        ({"model.safetensors": None, "model.Q4.gguf": b"weights"}, {},
         r"\(it has model\.Q4\.gguf\).* or download model\.Q4\.gguf yourself and name the file"),
        ({"model.safetensors": b""}, {},
         r"^org/target holds no model\*\.safetensors; only safetensors weights"),
        ({"model.safetensors": None, "adapter_config.json": b"{}", "adapter_model.safetensors": b"a"}, {},
         "^org/target is an adapter, not a whole model. Choose a model with it merged in"),
        ({"config.json": None}, {}, "org/target holds no config.json; mlx-lm cannot load it. Choose another"),
        ({"config.json": CODE}, {}, r"org/target needs its own Python code \(mine\.py\) to run"),
        ({"config.json": PACKED % b"bitsandbytes"}, {}, "org/target is quantized by bitsandbytes, which"),
        ({"config.json": PACKED % b"fp8"}, {}, "org/target is quantized by fp8, which"),
        ({"config.json": PACKED % b"gptq"}, {}, "org/target is quantized by gptq, which"),
        ({}, {"config.json": b"{}"}, "config.json of org/draft names no model_type"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("quick_tokenizers")
def test_a_model_that_cannot_be_used_is_refused_before_its_weights(
    hub: HubServer, target: dict[str, bytes | None], draft: dict[str, bytes | None], message: str
) -> None:
    for repo, changes in (("org/target", target), ("org/draft", draft)):
        files = hub.models[repo].files | changes
        hub.models[repo].files = {name: body for name, body in files.items() if body is not None}

    with pytest.raises(ModelsError, match=message):
        last()

    assert "model.safetensors" not in hub.downloads()


@pytest.mark.parametrize("kind", ["telepathy", "../utils", "cache.x", ""])
def test_an_unknown_architecture_is_named(kind: str) -> None:
    with pytest.raises(BadChoice, match=f"org/name is of type '{kind}'"):
        check_architecture({"model_type": kind}, "org/name")


def test_loading_what_a_pull_refused_for_its_architecture_does_not_advise_to_pull_it(hub: HubServer) -> None:
    files = hub.models["org/target"].files
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | {"model_type": "odd"}).encode()
    spec = PairSpec("target", Source("org/target"), None)
    for ask in (last, load):
        with pytest.raises(BadChoice, match="org/target is of type 'odd', which mlx-lm does not know"):
            ask(spec)
