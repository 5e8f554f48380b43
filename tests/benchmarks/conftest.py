"""The tiny pair of the command line's tests."""

from tests.app.conftest import tiny_pair as tiny_pair
