"""What is logged of an error."""

import re

import pytest

from app.shell.errors import where


def test_an_error_is_logged_by_its_type_and_place_if_it_was_raised_never_by_its_text() -> None:
    error = KeyError("a prompt")
    assert where(error) == "KeyError"
    with pytest.raises(KeyError):
        raise error
    assert re.fullmatch(r"KeyError at test_errors\.py:\d+", where(error))
