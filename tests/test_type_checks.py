"""A wrong type or shape given to the engine fails the test that gives it (`type_checks.py`)."""

import mlx.core as mx
import pytest
from jaxtyping import TypeCheckError

from mlx_spec.arrays import Length
from mlx_spec.target.cache import Buffer
from mlx_spec.verify import rules


def test_a_wrong_type_or_shape_is_refused_in_functions_methods_and_dataclasses() -> None:
    draft, noise = mx.zeros((2,), mx.int32), mx.zeros((3, 5))
    rules.coupled(draft, mx.zeros((3, 5)), noise)
    with pytest.raises(TypeCheckError):
        rules.coupled(draft, mx.zeros((3, 4)), noise)
    with pytest.raises(TypeCheckError):
        Length.exact(3).plus("1")  # type: ignore[arg-type]
    with pytest.raises(TypeCheckError):
        Buffer(window="wide")  # type: ignore[arg-type]
