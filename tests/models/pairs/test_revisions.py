"""The record of the commits that pulled models stand at."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from models.pairs.pair import Source
from models.pairs.revisions import forget, record_commit, recorded_commit
from models.paths import revisions_file

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


def test_what_several_programs_record_at_once_is_all_kept(home: Path) -> None:
    sources = [Source(f"org/{number}") for number in range(24)]
    for source in sources[:8]:
        record_commit(source, "1" * 40)
    with ThreadPoolExecutor(8) as pool:
        for source in sources[:8]:
            pool.submit(forget, source.repo, "1" * 40)
        for source in sources[8:]:
            pool.submit(record_commit, source, "1" * 40)

    assert [recorded_commit(source) for source in sources] == [None] * 8 + ["1" * 40] * 16
