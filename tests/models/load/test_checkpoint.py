"""Where a model's files may lie."""

import json
from pathlib import Path

import mlx.core as mx

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
