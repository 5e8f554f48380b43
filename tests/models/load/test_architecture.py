"""Architectures that mlx-lm knows, under its own names and under others."""

import pytest

from models.errors import BadChoice
from models.load.configuration import check_architecture


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3", "mistral", "mistral3"])
def test_known_architectures_pass_under_any_of_their_names(kind: str) -> None:
    check_architecture({"model_type": kind}, "org/name")


@pytest.mark.parametrize("kind", ["telepathy", "../utils", "cache.x", ""])
def test_an_unknown_architecture_is_named(kind: str) -> None:
    with pytest.raises(BadChoice, match=f"org/name is of type '{kind}'"):
        check_architecture({"model_type": kind}, "org/name")
