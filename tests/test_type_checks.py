"""An array of another type or shape than the engine is to be given fails the test that gives it."""

import mlx.core as mx
import pytest
from jaxtyping import TypeCheckError

from mlx_spec.arrays import Draft
from mlx_spec.verify import rules
from tests import type_checks


def test_a_wrong_type_or_shape_is_refused_in_functions_and_dataclasses() -> None:
    type_checks.calls.clear()
    draft, probs = mx.zeros((2,), mx.int32), mx.zeros((3, 5))
    rules.token_limits(draft, mx.zeros((2, 5)), probs)
    with pytest.raises(TypeCheckError):
        rules.token_limits(draft, mx.zeros((2, 4)), probs)
    for wrong in (draft, mx.zeros((1, 2))):
        with pytest.raises(TypeCheckError):
            Draft(wrong, 2)
