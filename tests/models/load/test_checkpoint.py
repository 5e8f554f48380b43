"""Where a model's files may lie."""

from pathlib import Path

import mlx.core as mx

from models.load.checkpoint import opened
from tests.models.tiny_models import make_pair


def test_a_model_in_a_folder_whose_name_looks_like_a_pattern_is_loaded(tmp_path: Path) -> None:
    folder = make_pair(tmp_path)[0].rename(tmp_path / "[7B] what?*")
    with opened(folder) as files:
        model, config = files.load()
        assert files.path == folder and files.tokenizer(config).encode("the small model")
    assert model(mx.zeros((1, 1), mx.int32)).shape == (1, 1, 384)
