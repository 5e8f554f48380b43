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
from models.errors import BadChoice, BrokenFiles, MachineTrouble, ModelsError, NotInstalled
from models.load import checkpoint
from models.load.checkpoint import Checkpoint
from models.load.configuration import check_architecture, context_limit, rope_settings
from models.load.engine import LoadedPair, load
from models.pairs.pair import PairSpec, Source
from models.pairs.resolve import resolve
from tests.models.drafter_folders import edit_tensors
from tests.models.tiny_models import edit, make_model, make_pair, model_config


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return make_pair(tmp_path)


def spec_of(target: Path, draft: Path | None) -> PairSpec:
    return resolve(target=str(target), draft=str(draft or "none"))


def answer(loaded: LoadedPair, **options: Any) -> list[int]:
    rounds = loaded.engine.generate(loaded.tokenizer.encode("the small model"), Options(**options))
    return [token for one in rounds for token in one.tokens]


SCALING = {"rope_type": "linear", "factor": 4.0}


def test_rope_settings_as_transformers_5_writes_them_give_the_logits_of_the_older_ones(tmp_path):
    logits = []
    for number, named in enumerate(
        (
            {"rope_theta": 500.0, "rope_scaling": SCALING},
            {"rope_parameters": {**SCALING, "rope_theta": 500.0}},
        )
    ):
        folder = make_model(tmp_path / str(number))
        edit(folder / "config.json", **named)
        logits.append(Checkpoint(folder, folder).load()[0](mx.arange(20)[None]))
    assert mx.array_equal(*logits)


@pytest.mark.parametrize(
    ("config", "older"),
    [
        ({}, {}),
        ({"rope_theta": 7.0, "rope_parameters": {"rope_theta": 8.0}}, {}),
        ({"text_config": {"a": 1, "rope_parameters": {"rope_theta": 8.0, "rope_type": "default"}}},
         {"text_config": {"a": 1, "rope_parameters": ..., "rope_theta": 8.0}}),
        ({"model_type": "gemma3_text", "rope_parameters": {"full_attention": SCALING}},
         {"rope_scaling": {**SCALING, "type": "linear"}}),
        ({"model_type": "gemma4_text", "rope_parameters": {"full_attention": SCALING}}, {}),
    ],
)  # fmt: skip
def test_older_rope_settings(config, older):
    found = rope_settings(config)
    if "text_config" in found:
        found["text_config"]["rope_parameters"] = ...
    assert found == older


def test_a_pair_of_folders_answers_and_loading_opens_no_connection(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    loaded = load(spec_of(*pair))

    assert len(answer(loaded, max_tokens=8, drafter="model")) == 8
    assert [drafter.name for drafter in loaded.engine.drafters] == ["lookup", "model"]
    assert loaded.context_limit == 512

    alone = load(spec_of(pair[0], None))
    assert [drafter.name for drafter in alone.engine.drafters] == ["lookup", "recycling", "lookahead"]
    assert alone.memory_bytes < loaded.memory_bytes


def test_embedding_rows_may_differ_where_the_tokenizer_is_the_same(pair: tuple[Path, Path]) -> None:
    """As Qwen2.5, whose embedding has 152,064 rows from 7B on and 151,936 below."""
    make_model(pair[1], seed=1, num_hidden_layers=1, vocab_size=352)

    assert len(answer(load(spec_of(*pair)), max_tokens=12, drafter="model", temperature=1.0)) == 12


def quantize(folder: Path, config: dict[str, Any], **quantization: Any) -> None:
    """Write a quantized model of this configuration."""
    model = Model(ModelArgs.from_dict(config))
    model.set_dtype(mx.bfloat16)
    nn.quantize(model, **quantization)
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())))
    (folder / "config.json").write_text(json.dumps(config | {"quantization": quantization}))


@pytest.mark.parametrize("mode", ["affine", "mxfp4"])
def test_a_quantized_model_becomes_float32_on_a_cpu(pair: tuple[Path, Path], mode: str) -> None:
    quantize(pair[0], model_config(hidden_size=64, intermediate_size=128), group_size=32, bits=4, mode=mode)

    parameters = tree_flatten(load(spec_of(*pair)).engine.target.model.parameters())
    dtypes = {array.dtype for _, array in parameters if isinstance(array, mx.array)}
    assert (dtypes == {mx.float32}) == (mx.default_device() == mx.cpu)


def test_every_end_of_text_of_the_generation_configuration_stops(pair: tuple[Path, Path]) -> None:
    end = load(spec_of(*pair)).stop_tokens
    edit(pair[0] / "generation_config.json", eos_token_id=[7, 9])

    assert load(spec_of(*pair)).stop_tokens == end | {7, 9}


def test_a_chat_template_that_is_no_text_is_refused(pair: tuple[Path, Path]) -> None:
    edit(pair[0] / "tokenizer_config.json", chat_template=True)
    with pytest.raises(BrokenFiles, match=r"target cannot be read \(its chat template is True, which is no"):
        load(spec_of(*pair))


@pytest.mark.parametrize(
    ("end", "shown"), [("365", "'365'"), (1.0, "1.0"), (True, "True"), ([7, [9]], r"\[9\]")]
)
def test_an_end_of_text_that_is_no_id_is_shown_as_it_is(
    pair: tuple[Path, Path], end: Any, shown: str
) -> None:
    edit(pair[0] / "generation_config.json", eos_token_id=end)
    with pytest.raises(BrokenFiles, match=f"The end token in .*target is {shown}, which is not a token id"):
        load(spec_of(*pair))


def test_a_tokenizer_in_vocab_json_and_merges_txt_is_read(pair: tuple[Path, Path]) -> None:
    expected = load(spec_of(*pair)).tokenizer.encode("the small model")
    file = pair[0] / "tokenizer.json"
    model = json.loads(file.read_text())["model"]
    file.unlink()
    (pair[0] / "vocab.json").write_text(json.dumps(model["vocab"]))
    (pair[0] / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, model["merges"])]))
    edit(pair[0] / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")

    assert load(spec_of(pair[0], None)).tokenizer.encode("the small model") == expected


def test_a_config_that_names_no_end_token_by_a_negative_number_is_read(pair: tuple[Path, Path]) -> None:
    edit(pair[0] / "config.json", eos_token_id=-1)
    loaded = load(spec_of(*pair))

    assert len(answer(loaded, max_tokens=4, stop_tokens=loaded.stop_tokens)) == 4


def test_a_repository_that_was_never_pulled_says_how_to_pull(home: Path) -> None:
    with pytest.raises(NotInstalled, match="Get it with: mlx-spec pull smollm2-1.7b$"):
        load(resolve("smollm2-1.7b"))
    with pytest.raises(NotInstalled, match="mlx-spec pull --target org/a --draft none"):
        load(PairSpec("a", Source("org/a"), None))


def test_a_folder_that_is_gone_is_said(pair: tuple[Path, Path]) -> None:
    spec = spec_of(*pair)
    pair[1].rename(pair[1].with_name("elsewhere"))

    with pytest.raises(NotInstalled, match="draft is not there"):
        load(spec)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"num_hidden_layers": 3}, r"Missing 9 parameters: model\.layers\.2\.\S*weight$"),
        ({"num_hidden_layers": 1}, r"Received 9 parameters not in model: model\.layers\.1\.\S*weight$"),
        ({"vocab_size": 400}, r"Expected shape \(400, 32\)"),
        ({"max_position_embeddings": None}, "^config.json in .*target cannot be .*TypeError: .*NoneType"),
    ],
)
def test_weights_of_another_model_and_a_wrong_value_are_named(
    pair: tuple[Path, Path], changes: dict[str, Any], why: str
) -> None:
    edit(pair[0] / "config.json", **changes)

    with pytest.raises(BrokenFiles, match=why):
        load(spec_of(*pair))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (mx.array(float("nan")), r"^The weights in .*target are damaged: they give NaN\. Fetch"),
        (
            mx.array(1, mx.int8),
            r"cannot load the model in .*target: ValueError: \[rms_norm\] Received unsupported",
        ),
    ],
)
def test_weights_that_cannot_be_calculated_with_are_named(
    pair: tuple[Path, Path], bad: mx.array, message: str
) -> None:
    edit_tensors(pair[0], lambda all_: all_.update({n: x.astype(bad.dtype) * bad for n, x in all_.items()}))
    with pytest.raises(ModelsError, match=message):
        load(spec_of(*pair))


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (RuntimeError("[malloc] Unable to allocate 9 bytes."), MachineTrouble,
         "do not fit into memory. Choose"),
        (RuntimeError("odd"), BrokenFiles, "The weights in it cannot be used here: odd"),
        (RecursionError("deep"), BadChoice, "mlx-lm cannot load the model in it: RecursionError: "),
    ],
)  # fmt: skip
def test_other_errors_of_loading_say_what_to_do(error: Exception, kind: type, message: str) -> None:
    found = checkpoint.trouble(Path("it"), error)
    assert type(found) is kind and message in str(found)


def test_what_mlx_lm_cannot_build_is_refused(pair: tuple[Path, Path]) -> None:
    for config, message in (
        ({"model_type": "telepathy"}, "telepathy"),
        ({"model_type": "llama"}, "mlx-lm cannot load the model in .*hidden_size"),
    ):
        (pair[0] / "config.json").write_text(json.dumps(config))
        with pytest.raises(BadChoice, match=message):
            load(spec_of(*pair))


def test_code_from_a_repository_is_never_run(pair: tuple[Path, Path]) -> None:
    (pair[0] / "mine.py").write_text("raise SystemExit('the code ran')")
    own = {"auto_map": {"AutoTokenizer": ["mine.Mine", None]}, "tokenizer_class": "Mine"}
    edit(pair[0] / "tokenizer_config.json", **own)
    try:
        load(spec_of(*pair))
    except BadChoice as refusal:
        assert "never executed" in str(refusal)

    edit(pair[0] / "config.json", model_file="mine.py")
    with pytest.raises(BadChoice, match="never executed"):
        load(spec_of(*pair))


def yarn(kind: str, limit: int, trained: int, factor: float) -> dict[str, Any]:
    scaling = {kind: "yarn", "factor": factor, "original_max_position_embeddings": trained}
    return {"max_position_embeddings": limit, "rope_scaling": scaling}


LLAMA3 = {"rope_type": "llama3", "factor": 32.0, "original_max_position_embeddings": 8192}


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"model_type": "llama", "max_position_embeddings": 2048}, 2048),
        ({"text_config": {"max_position_embeddings": 1000}, "max_position_embeddings": 5}, 1000),
        ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}, 131072),
        (yarn("type", 32768, 32768, 4.0), 131072),
        (yarn("rope_type", 131072, 32768, 4.0), 131072),
        ({"max_position_embeddings": 131072, "rope_scaling": LLAMA3}, 131072),
        ({"model_type": "kimi_linear", "model_max_length": 1048576}, 1048576),
        ({"model_type": "no such thing"}, 4096),
    ],
)
def test_the_context_limit_is_the_model_s_own(config: dict[str, Any], limit: int) -> None:
    assert context_limit(config) == limit


@pytest.mark.parametrize("kind", ["llama", "qwen3", "nemotron-nas", "mistral", "mistral3"])
def test_known_architectures_pass_under_any_of_their_names(kind: str) -> None:
    check_architecture({"model_type": kind}, "org/name")


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_are_counted_as_the_float32_they_become(
    tmp_path: Path, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = model_config(hidden_size=64, intermediate_size=128)
    parameters = tree_flatten(Model(ModelArgs.from_dict(config)).parameters())
    plain = sum(array.nbytes for _, array in parameters if isinstance(array, mx.array))
    quantize(tmp_path, config, group_size=64, bits=bits)

    files = Checkpoint(tmp_path, tmp_path)
    assert plain < files.weight_bytes() < 1.05 * plain
    monkeypatch.setattr(checkpoint, "on_cpu", lambda: False)
    assert files.weight_bytes() < plain * bits / 28
