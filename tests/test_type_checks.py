"""A wrong type or shape given to the engine fails the test that gives it."""

import mlx.core as mx
import pytest
from jaxtyping import TypeCheckError

from mlx_spec.arrays import Length
from mlx_spec.candidate import Candidate
from mlx_spec.target.cache import Buffer
from mlx_spec.target.view import views
from mlx_spec.verify import rules as verify


def test_a_wrong_type_is_refused_in_functions_methods_and_dataclasses() -> None:
    with pytest.raises(TypeCheckError):
        Length.exact(3).plus("1")  # type: ignore[arg-type]
    with pytest.raises(TypeCheckError):
        Buffer(window="wide")  # type: ignore[arg-type]
    with pytest.raises(TypeCheckError):
        Candidate("model", kind="model", prior="half", limit=8)  # type: ignore[arg-type]


def test_a_wrong_type_is_refused_where_the_annotation_is_recursive() -> None:
    for entry in (1, (1,), ((1,),)):
        with pytest.raises(TypeCheckError):
            views([entry], Length.exact(0), iter([]))  # type: ignore[list-item]


def test_shapes_of_one_call_have_to_agree() -> None:
    draft, noise = mx.zeros((2,), mx.int32), mx.zeros((3, 5))
    verify.coupled(draft, mx.zeros((3, 5)), noise)
    with pytest.raises(TypeCheckError):
        verify.coupled(draft, mx.zeros((3, 4)), noise)
    with pytest.raises(TypeCheckError):
        verify.coupled(draft.astype(mx.float32), mx.zeros((3, 5)), noise)


def test_shapes_are_checked_in_the_first_calls_of_a_test_and_at_times_after_that() -> None:
    refused: list[int] = []
    for call in range(1, 301):
        try:
            verify.coupled(mx.zeros((2,)), mx.zeros((3, 5)), mx.zeros((3, 5)))
        except TypeCheckError:
            refused.append(call)
    assert refused == [*range(1, 5), 50, 100, 150, 200, 250, 300]
