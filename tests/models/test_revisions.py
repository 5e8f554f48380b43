"""The record of the commits that pulled models stand at."""

from pathlib import Path

import pytest

from models.pair import Source
from models.paths import revisions_file
from models.revisions import record_commit, recorded_commit

MODEL = Source("org/target")


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "5",
        "[" * 100_000,
        '{"org/target": []}',
        '{"org/target": {"main": 5}}',
        '{"org/target": 1}',
    ],
)
def test_a_damaged_record_counts_as_nothing_recorded_and_is_written_anew(home: Path, damage: str) -> None:
    revisions_file().parent.mkdir(parents=True)
    revisions_file().write_text(damage)
    assert recorded_commit(MODEL) is None

    record_commit(MODEL, "1" * 40)

    assert recorded_commit(MODEL) == "1" * 40
