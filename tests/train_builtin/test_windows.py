"""Training windows of conversations, one after another."""

import itertools

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[train]'")

from train_builtin.windows import windows  # noqa: E402


def test_a_window_begins_with_a_conversation_and_is_filled_with_the_next():
    stream = (([10 * n, 10 * n + 1, 10 * n + 2], [0.1, 1.0, 1.0]) for n in itertools.count())
    ids, weights = windows(stream, rows=2, length=4)
    assert ids.tolist() == [[0, 1, 2, 10], [20, 21, 22, 30]]
    assert weights[:, 0].tolist() == weights[:, 3].tolist() == pytest.approx([0.1, 0.1])
