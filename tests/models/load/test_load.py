"""Loading pairs from disk, whole and broken."""

import json
import socket
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models.llama import Model, ModelArgs

from mlx_spec import Options
from models.errors import BadChoice, BrokenFiles, NotInstalled
from models.load.configuration import context_limit
from models.load.engine import load
from models.pairs.pair import PairSpec, Source
from models.pairs.resolve import resolve
from tests.models.tiny_models import make_model, make_pair, make_tokenizer, model_config


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return make_pair(tmp_path)


def spec_of(target: Path, draft: Path | None) -> PairSpec:
    return resolve(target=str(target), draft=str(draft or "none"))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | changes))


def test_a_pair_of_folders_answers(pair: tuple[Path, Path]) -> None:
    loaded = load(spec_of(*pair))

    prompt = loaded.tokenizer.encode("the small model")
    rounds = list(loaded.engine.generate(prompt, Options(max_tokens=8, drafter="model")))
    assert sum(len(r.tokens) for r in rounds) == 8
    assert [drafter.name for drafter in loaded.engine.drafters] == ["lookup", "model"]
    assert loaded.context_limit == 512


def test_loading_opens_no_connection(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    load(spec_of(*pair))


def test_a_pair_without_a_draft_model_loads(pair: tuple[Path, Path]) -> None:
    loaded = load(spec_of(pair[0], None))

    assert [drafter.name for drafter in loaded.engine.drafters] == ["lookup"]
    assert loaded.memory_bytes < load(spec_of(*pair)).memory_bytes


def test_embedding_rows_may_differ_where_the_tokenizer_is_the_same(pair: tuple[Path, Path]) -> None:
    """As Qwen2.5: 152,064 rows from 7B on, 151,936 below."""
    make_model(pair[1], seed=1, num_hidden_layers=1, vocab_size=352)

    loaded = load(spec_of(*pair))

    prompt = loaded.tokenizer.encode("the large one")
    rounds = list(loaded.engine.generate(prompt, Options(max_tokens=12, drafter="model", temperature=1.0)))
    assert sum(len(r.tokens) for r in rounds) == 12


def test_a_quantized_model_becomes_float32_on_a_cpu(pair: tuple[Path, Path]) -> None:
    config = model_config(hidden_size=64, intermediate_size=128)
    model = Model(ModelArgs.from_dict(config))
    model.set_dtype(mx.bfloat16)
    nn.quantize(model, group_size=32, bits=8)
    mx.save_safetensors(str(pair[0] / "model.safetensors"), dict(tree_flatten(model.parameters())))
    edit(pair[0] / "config.json", **config, quantization={"group_size": 32, "bits": 8})

    loaded = load(spec_of(*pair))

    dtypes = {
        array.dtype
        for _, array in tree_flatten(loaded.engine.target.model.parameters())
        if isinstance(array, mx.array)
    }
    assert (dtypes == {mx.float32}) == (mx.default_device() == mx.cpu)


def test_every_end_of_text_of_the_generation_configuration_stops(pair: tuple[Path, Path]) -> None:
    end = load(spec_of(*pair)).stop_tokens
    edit(pair[0] / "generation_config.json", eos_token_id=[7, 9])

    assert load(spec_of(*pair)).stop_tokens == end | {7, 9}


def test_a_repository_that_was_never_pulled_says_how_to_pull(home: Path) -> None:
    with pytest.raises(NotInstalled, match="Get it with: mlx-spec pull smollm2-1.7b$"):
        load(resolve("smollm2-1.7b"))
    with pytest.raises(NotInstalled, match="mlx-spec pull --target org/a --draft none"):
        load(PairSpec("a", Source("org/a"), None))


def test_a_folder_that_is_gone_is_said(pair: tuple[Path, Path]) -> None:
    spec = spec_of(*pair)
    pair[1].rename(pair[1].with_name("elsewhere"))

    with pytest.raises(NotInstalled, match="There is no folder .*draft"):
        load(spec)


def test_truncated_weights_are_refused(pair: tuple[Path, Path]) -> None:
    path = pair[1] / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])

    with pytest.raises(BrokenFiles, match="model.safetensors in .*draft is damaged"):
        load(spec_of(*pair))


@pytest.mark.parametrize("changes", [{"num_hidden_layers": 3}, {"num_hidden_layers": 1}, {"vocab_size": 400}])
def test_weights_of_another_model_are_refused(pair: tuple[Path, Path], changes: dict[str, int]) -> None:
    edit(pair[0] / "config.json", **changes)

    with pytest.raises(BrokenFiles, match="do not belong to its config.json"):
        load(spec_of(*pair))


def test_an_unknown_architecture_is_refused_by_name(pair: tuple[Path, Path]) -> None:
    edit(pair[0] / "config.json", model_type="telepathy")

    with pytest.raises(BadChoice, match="telepathy"):
        load(spec_of(*pair))


def test_a_configuration_without_its_numbers_is_refused(pair: tuple[Path, Path]) -> None:
    (pair[0] / "config.json").write_text('{"model_type": "llama"}')

    with pytest.raises(BadChoice, match="mlx-lm cannot load the model in .*hidden_size"):
        load(spec_of(*pair))


def test_code_from_a_repository_is_never_run(pair: tuple[Path, Path]) -> None:
    (pair[0] / "mine.py").write_text("raise SystemExit('the code ran')")
    edit(pair[0] / "config.json", model_file="mine.py")

    with pytest.raises(BadChoice, match="never executed"):
        load(spec_of(*pair))


def test_a_tokenizer_of_a_repository_s_own_code_is_never_run(pair: tuple[Path, Path]) -> None:
    (pair[0] / "mine.py").write_text("raise SystemExit('the code ran')")
    edit(
        pair[0] / "tokenizer_config.json",
        auto_map={"AutoTokenizer": ["mine.Mine", None]},
        tokenizer_class="Mine",
    )

    try:
        load(spec_of(*pair))
    except BadChoice as refusal:
        assert "never executed" in str(refusal)


def test_a_draft_that_reads_text_differently_is_refused(pair: tuple[Path, Path]) -> None:
    make_tokenizer(pair[1], text=("entirely other words " * 30,))

    with pytest.raises(BadChoice, match="to the target and .* to the draft"):
        load(spec_of(*pair))


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"model_type": "llama", "max_position_embeddings": 2048}, 2048),
        (
            {
                "model_type": "x",
                "text_config": {"max_position_embeddings": 1000},
                "max_position_embeddings": 5,
            },
            1000,
        ),
        ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}, 131072),
        (
            {
                "model_type": "qwen2",
                "max_position_embeddings": 32768,
                "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
            },
            131072,
        ),
        (
            {
                "model_type": "llama",
                "max_position_embeddings": 131072,
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 32.0,
                    "original_max_position_embeddings": 8192,
                },
            },
            131072,
        ),
        ({"model_type": "no such thing"}, 4096),
    ],
)
def test_the_context_limit_is_the_model_s_own(config: dict[str, Any], limit: int) -> None:
    assert context_limit(config) == limit
