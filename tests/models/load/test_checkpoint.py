"""Where a model's files may lie."""

import json
from pathlib import Path

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from mlx_lm.utils import _get_classes as get_classes

from models.load.checkpoint import opened
from tests.models.tiny_models import make_model, make_pair, model_config


def test_a_model_in_a_folder_whose_name_looks_like_a_pattern_is_loaded(tmp_path: Path) -> None:
    folder = make_pair(tmp_path)[0].rename(tmp_path / "[7B] what?*")
    with opened(folder) as files:
        model, config = files.load()
        assert files.path == folder and files.tokenizer(config).encode("the small model")
    assert model(mx.zeros((1, 1), mx.int32)).shape == (1, 1, 384)


def test_a_projection_that_is_there_is_used_where_config_json_does_not_say_whether_it_is_tied(
    tmp_path: Path,
) -> None:
    def scores() -> mx.array:
        with opened(tmp_path) as files:
            return files.load()[0](mx.zeros((1, 1), mx.int32))

    config = model_config()
    del config["tie_word_embeddings"]
    for tied in (False, True):
        make_model(tmp_path, tie_word_embeddings=tied)
        said = scores()
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert mx.array_equal(scores(), said)


@pytest.mark.parametrize("kind", ["qwen2_5_vl", "qwen3_vl", "mistral3"])
@pytest.mark.parametrize("tied", [False, True])
def test_so_it_is_where_config_json_says_it_beside_the_texts_settings(
    tmp_path: Path, kind: str, *, tied: bool
) -> None:
    text = model_config(tie_word_embeddings=tied, head_dim=16, rope_theta=1e4)
    config = {"model_type": kind, "text_config": text, "tie_word_embeddings": tied}
    build, args = get_classes(config)
    model = build(args.from_dict(config))
    mx.save_safetensors(str(tmp_path / "model.safetensors"), dict(tree_flatten(model.parameters())))
    del text["tie_word_embeddings"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with opened(tmp_path) as files:
        loaded, _ = files.load()
    assert mx.array_equal(loaded(mx.zeros((1, 1), mx.int32)), model(mx.zeros((1, 1), mx.int32)))
