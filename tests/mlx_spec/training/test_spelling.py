"""A text in a draft model's tokens has the next token of each, and which the target chose greedily."""

import mlx.core as mx
import pytest
from mlx_lm.models.llama import ModelArgs

from mlx_spec.training import study
from mlx_spec.training.fit import Fit
from mlx_spec.training.small_model import learner, new_model
from mlx_spec.training.spelling import spelled
from mlx_spec.training.study import Text

SPELLING = ([7, 8], [5], [], [9, 9, 9])
"""The third token is left out."""


@pytest.mark.parametrize(
    ("begin", "greedy", "chosen"), [(2, True, [2, 3, 4]), (0, True, [0, 1, 2, 3, 4]), (2, False, [])]
)
def test_the_label_of_each_token_is_the_next_one(begin: int, greedy: bool, chosen: list[int]) -> None:
    found = spelled(Text([0, 1, 2, 3], begin, greedy), SPELLING)
    assert found.tokens.tolist() == [7, 8, 5, 9, 9] and found.likeliest.tolist() == [[8], [5], [9], [9], [9]]
    assert [i for i, each in enumerate(found.greedy.tolist()) if each] == chosen  # type: ignore[arg-type]


def test_a_text_without_tokens_is_empty() -> None:
    assert len(spelled(Text([2, 2]), SPELLING).tokens) == 0


def test_a_new_model_learns_to_spell(tmp_path) -> None:
    texts = [spelled(Text([0, 1] * 20, 1, True), SPELLING) for _ in range(3)]
    study.write(tmp_path / "texts.safetensors", texts)
    args = ModelArgs("llama", 32, 1, 64, 2, 1e-5, 10)
    fit = Fit(learner(new_model(args), 10, 10, 1.0), [tmp_path / "texts.safetensors"], 6000, tmp_path / "fit")
    fit.run(lambda _: None)
    assert fit.acceptance(texts)[0] > 0.95
    assert new_model(args).model.embed_tokens.weight.dtype == mx.float32
